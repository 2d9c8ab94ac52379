"""Pods: what the server fills in, what it refuses, what may change, and the doors beside the main one."""

from conformance.model import Call, Json, Settle, sequence
from conformance.objects import container, pod, pod_spec, priority_class
from conformance.requests import at, create, delete, get, json_patch, merge, update


def _with(**spec: Json) -> Json:
    return pod("p", pod_spec(**spec))


def _container(**parts: Json) -> Json:
    return _with(containers=[container("main", **parts)])


SEQUENCES = (
    sequence(
        "pod-defaults",
        create("pods", pod("plain")),
        create("pods", pod("latest", pod_spec(containers=[{"name": "a", "image": "app"}]))),
        create("pods", pod("digest", pod_spec(containers=[{"name": "a", "image": "app@sha256:" + "0" * 64}]))),
        create(
            "pods",
            pod(
                "full",
                pod_spec(
                    containers=[
                        container(
                            "main",
                            ports=[{"containerPort": 80}],
                            env=[
                                {"name": "A", "value": ""},
                                {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                                {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                            ],
                            resources={"limits": {"cpu": "1", "memory": "1Gi"}},
                            livenessProbe={"httpGet": {"port": 80}},
                            readinessProbe={"exec": {"command": ["true"]}},
                            lifecycle={"preStop": {"httpGet": {"port": 80}}},
                            volumeMounts=[{"name": "cm", "mountPath": "/cm"}],
                        )
                    ],
                    initContainers=[container("init", restartPolicy="Always")],
                    volumes=[
                        {"name": "cm", "configMap": {"name": "x"}},
                        {"name": "sec", "secret": {"secretName": "x"}},
                        {"name": "host", "hostPath": {"path": "/tmp"}},
                        {"name": "empty", "emptyDir": {}},
                        {"name": "none"},
                        {
                            "name": "down",
                            "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]},
                        },
                        {"name": "proj", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
                    ],
                    hostNetwork=True,
                    topologySpreadConstraints=[
                        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
                    ],
                ),
            ),
        ),
        create(
            "pods",
            pod(
                "quantities",
                pod_spec(
                    containers=[
                        container(
                            "main",
                            resources={
                                "requests": {"cpu": "1000m", "memory": "1024Mi"},
                                "limits": {"cpu": 2, "memory": "1.5Gi"},
                            },
                        )
                    ]
                ),
            ),
        ),
        get("pods", "quantities"),
    ),
    sequence(
        "pod-service-account",
        create("pods", _with(serviceAccountName="missing")),
        create("pods", _with(serviceAccount="default")),
        create("pods", pod("q", pod_spec(automountServiceAccountToken=False))),
        merge("serviceaccounts", "default", {"imagePullSecrets": [{"name": "registry"}]}),
        Settle(),
        create("pods", pod("r")),
        merge("serviceaccounts", "default", {"automountServiceAccountToken": False}),
        Settle(),
        create("pods", pod("s")),
    ),
    sequence(
        "pod-refused-containers",
        create("pods", _with(containers=[])),
        create("pods", _with(containers=None)),
        create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}),
        create("pods", _with(containers=[container("Bad_Name")])),
        create("pods", _with(containers=[{"name": "a"}])),
        create("pods", _with(containers=[{"image": "a"}])),
        create("pods", _with(containers=[container("a"), container("a")])),
        create("pods", _with(containers=[container("a")], initContainers=[container("a")])),
        create("pods", _container(image=" spaced ")),
        create("pods", _container(imagePullPolicy="Sometimes")),
        create("pods", _container(ports=[{"containerPort": 0}])),
        create("pods", _container(ports=[{"containerPort": 70000}])),
        create("pods", _container(ports=[{"containerPort": 80, "protocol": "ICMP"}])),
        create(
            "pods",
            _container(
                ports=[
                    {"containerPort": 80, "name": "UPPER"},
                    {"containerPort": 81, "name": "dup"},
                    {"containerPort": 82, "name": "dup"},
                ]
            ),
        ),
        create("pods", _container(env=[{"name": ""}])),
        create("pods", _container(env=[{"name": "A=B"}])),
        create(
            "pods",
            _container(env=[{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
        ),
        create("pods", _container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.odd"}}}])),
        create("pods", _container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}])),
        create("pods", _container(volumeMounts=[{"name": "missing", "mountPath": "/x"}])),
        create("pods", _container(volumeMounts=[{"name": "v"}])),
        create("pods", _container(terminationMessagePolicy="Odd")),
        create("pods", _container(livenessProbe={})),
        create("pods", _container(livenessProbe={"exec": {"command": []}, "periodSeconds": -1})),
        create("pods", _container(livenessProbe={"httpGet": {"port": 0}})),
        create("pods", _container(lifecycle={"preStop": {}})),
        create("pods", _container(securityContext={"runAsUser": -1})),
        create("pods", _container(workingDir=5)),
        create("pods", _container(command="not a list")),
    ),
    sequence(
        "pod-refused-resources",
        create("pods", _container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
        create("pods", _container(resources={"requests": {"cpu": "-1"}})),
        create("pods", _container(resources={"requests": {"cpu": "abc"}})),
        create("pods", _container(resources={"limits": {"example.com/gpu": "1.5"}})),
        create("pods", _container(resources={"requests": {"example.com/gpu": "1"}})),
        create("pods", _container(resources={"requests": {"odd": "1"}})),
        create("pods", _container(resources={"limits": {"example.com/gpu": "1"}})),
        create("pods", _container(resources={"requests": {"cpu": {"x": 1}}})),
    ),
    sequence(
        "pod-refused-spec",
        create("pods", _with(restartPolicy="Sometimes")),
        create("pods", _with(dnsPolicy="Odd")),
        create("pods", _with(terminationGracePeriodSeconds=-5)),
        create("pods", _with(activeDeadlineSeconds=0)),
        create("pods", _with(nodeSelector={"bad key": "x"})),
        create("pods", _with(hostname="Bad_Host")),
        create("pods", _with(serviceAccountName="Bad_Name")),
        create("pods", _with(priorityClassName="missing")),
        create("pods", _with(priority=5)),
        create("pods", _with(volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}])),
        create("pods", _with(volumes=[{"name": "v", "emptyDir": {}, "configMap": {"name": "x"}}])),
        create("pods", _with(volumes=[{"name": "Bad_Name", "emptyDir": {}}])),
        create("pods", _with(volumes=[{"name": "v", "configMap": {}}])),
        create("pods", _with(volumes=[{"name": "v", "persistentVolumeClaim": {}}])),
        create("pods", _with(volumes=[{"name": "v", "hostPath": {}}])),
        create("pods", _with(volumes=[{"name": "v", "hostPath": {"path": "../up", "type": "Odd"}}])),
        create("pods", _with(tolerations=[{"operator": "Odd"}])),
        create("pods", _with(tolerations=[{"key": "k", "operator": "Exists", "value": "v"}])),
        create("pods", _with(tolerations=[{"effect": "Odd", "operator": "Exists"}])),
        create("pods", _with(imagePullSecrets=[{}])),
        create("pods", _with(hostAliases=[{"ip": "not-ip", "hostnames": ["a"]}])),
        create("pods", _with(schedulingGates=[{"name": "example.com/gate"}])),
        create("pods", _with(overhead={"cpu": "1"})),
        create("pods", _with(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}})),
        create(
            "pods", _with(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Odd"}])
        ),
        create("pods", _with(securityContext={"fsGroup": -1, "sysctls": [{"name": "Bad Name", "value": "x"}]})),
        create("pods", _with(unknownField=1)),
        create("pods", _with(unknownField=1), query={"fieldValidation": "Strict"}),
        create(
            "pods", pod("p2", pod_spec(containers=[container("a", unknown=1)])), query={"fieldValidation": "Ignore"}
        ),
    ),
    sequence(
        "pod-updates",
        create("pods", pod("a", labels={"x": "y"})),
        merge("pods", "a", {"spec": {"nodeName": "n1"}}),
        json_patch("pods", "a", [{"op": "replace", "path": "/spec/containers/0/image", "value": "example.com/app:2"}]),
        json_patch("pods", "a", [{"op": "replace", "path": "/spec/containers/0/image", "value": ""}]),
        json_patch("pods", "a", [{"op": "replace", "path": "/spec/containers/0/name", "value": "other"}]),
        json_patch("pods", "a", [{"op": "add", "path": "/spec/containers/-", "value": container("second")}]),
        merge("pods", "a", {"spec": {"activeDeadlineSeconds": 100}}),
        merge("pods", "a", {"spec": {"activeDeadlineSeconds": 200}}),
        merge("pods", "a", {"spec": {"activeDeadlineSeconds": None}}),
        json_patch(
            "pods", "a", [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "k", "operator": "Exists"}}]
        ),
        merge("pods", "a", {"spec": {"tolerations": []}}),
        merge("pods", "a", {"spec": {"terminationGracePeriodSeconds": 1}}),
        merge("pods", "a", {"metadata": {"labels": {"x": None, "z": "1"}}}),
        merge("pods", "a", {"status": {"phase": "Running"}}),
        update("pods", "a", pod("a")),
    ),
    sequence(
        "pod-status",
        create("pods", {**pod("a"), "status": {"phase": "Running", "podIP": "10.0.0.9"}}),
        merge(
            "pods", "a", {"status": {"phase": "Running", "podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}]}}, "status"
        ),
        get("pods", "a", "status"),
        merge("pods", "a", {"spec": {"activeDeadlineSeconds": 5}, "metadata": {"labels": {"via": "status"}}}, "status"),
        merge(
            "pods",
            "a",
            {
                "status": {
                    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}],
                    "containerStatuses": [
                        {
                            "name": "main",
                            "ready": True,
                            "restartCount": 0,
                            "image": "i",
                            "imageID": "x",
                            "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}},
                        }
                    ],
                }
            },
            "status",
        ),
        merge("pods", "a", {"status": {"podIP": "not-an-ip"}}, "status"),
        merge("pods", "a", {"status": {"phase": "Odd"}}, "status"),
        merge("pods", "a", {"status": {"unknown": 1}}, "status"),
        get("pods", "a"),
        update(
            "pods",
            "a",
            {**pod("a", resourceVersion="${a.rv}"), "status": {"phase": "Failed", "reason": "Evicted"}},
            "status",
        ),
        get("pods", "none", "status"),
    ),
    sequence(
        "pod-binding",
        create("pods", pod("a")),
        create(
            "pods",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "a"},
                "target": {"kind": "Node", "name": "n1"},
            },
            ("a", "binding"),
        ),
        get("pods", "a"),
        create(
            "pods",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "a"},
                "target": {"kind": "Node", "name": "n2"},
            },
            ("a", "binding"),
        ),
        create(
            "pods",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "x"},
                "target": {"kind": "Node", "name": "n2"},
            },
            ("x", "binding"),
        ),
        create("pods", pod("b")),
        create(
            "pods",
            {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "b"}, "target": {"kind": "Pod", "name": "n2"}},
            ("b", "binding"),
        ),
        create(
            "pods", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "b"}, "target": {}}, ("b", "binding")
        ),
        Call(
            method="POST",
            path=at("bindings"),
            body={
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "b"},
                "target": {"kind": "Node", "name": "n3"},
            },
        ),
        get("pods", "b"),
        get("pods", "b", "binding"),
    ),
    sequence(
        "pod-eviction",
        create("pods", pod("a", labels={"app": "x"})),
        create("pods", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}, ("a", "eviction")),
        create("pods", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}, ("a", "eviction")),
        create("pods", pod("b", pod_spec(nodeName="n1"))),
        create(
            "pods",
            {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": "b"},
                "deleteOptions": {"gracePeriodSeconds": 3},
            },
            ("b", "eviction"),
        ),
        create(
            "pods", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "other"}}, ("b", "eviction")
        ),
        create(
            "pods",
            {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": "b"},
                "deleteOptions": {"dryRun": ["All"]},
            },
            ("b", "eviction"),
        ),
    ),
    sequence(
        "pod-ephemeral-containers",
        create("pods", pod("a")),
        merge(
            "pods",
            "a",
            {"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}},
            "ephemeralcontainers",
        ),
        merge("pods", "a", {"spec": {"ephemeralContainers": []}}, "ephemeralcontainers"),
        merge("pods", "a", {"spec": {"ephemeralContainers": [{"name": "x", "image": "busybox"}]}}),
        create("pods", pod("b", pod_spec(ephemeralContainers=[{"name": "debug", "image": "busybox"}]))),
    ),
    sequence(
        "pod-priority",
        create("priorityclasses", priority_class("${seq}-high", 1000)),
        Settle(),
        create("pods", pod("a", pod_spec(priorityClassName="${seq}-high"))),
        create("pods", pod("b", pod_spec(priorityClassName="${seq}-high", priority=7))),
        create("pods", pod("c", pod_spec(priorityClassName="system-node-critical"))),
        create("priorityclasses", priority_class("${seq}-too", 2000000000)),
        create("priorityclasses", priority_class("system-${seq}", 5)),
        create("priorityclasses", priority_class("${seq}-never", -5, preemptionPolicy="Never", description="low")),
        Settle(),
        create("pods", pod("d", pod_spec(priorityClassName="${seq}-never"))),
        merge("priorityclasses", "${seq}-high", {"value": 5}),
        delete("priorityclasses", "${seq}-high"),
    ),
    sequence(
        "pod-doors-without-a-node",
        create("pods", pod("a")),
        get("pods", "a", "log"),
        create("pods", pod("b", pod_spec(containers=[container("x"), container("y")], nodeName="missing"))),
        get("pods", "b", "log"),
        get("pods", "b", "log", query={"container": "none"}),
        get("pods", "none", "log"),
        get("pods", "a", "exec", query={"command": "true"}),
        get("pods", "a", "nosuch"),
        create("pods", {}, ("a", "nosuch")),
    ),
)
