"""The kinds that generated sequences are about: how to make a legal object, and which changes make sense for it.

Every function takes the random source first and gives new trees; the same source gives the same tree.
"""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from msgspec import Struct

from conformance import objects
from conformance.model import Json

Build: TypeAlias = Callable[[Random, str], Json]
Change: TypeAlias = Callable[[Random], Json]


class Subject(Struct, frozen=True, kw_only=True):
    resource: str
    build: Build  # a legal object
    change: Change  # a merge patch that mostly is legal
    status: Change | None = None
    has_scale: bool = False
    has_strategic_patch: bool = True
    fields: tuple[str, ...] = ("metadata.name",)  # to select by


LABELS: tuple[dict[str, str] | None, ...] = (None, {"app": "x"}, {"app": "y"}, {"app": "x", "tier": "web"})


def metadata(random: Random) -> Json:
    made: Json = {}
    labels = random.choice(LABELS)
    if labels is not None:
        made["labels"] = dict(labels)
    if random.random() < 0.2:
        made["annotations"] = {"note": random.choice(("one", "two"))}
    if random.random() < 0.12:
        made["finalizers"] = ["example.com/hold"]
    return made


def _some(random: Random, **choices: tuple[Json, ...]) -> Json:
    """Each field with one of its values, or not at all."""
    return {key: random.choice(values) for key, values in choices.items() if random.random() < 0.4}


def _configmap(random: Random, name: str) -> Json:
    tree = objects.configmap(name, {key: random.choice("xyz") for key in random.sample("klm", 2)}, **metadata(random))
    return {**tree, **_some(random, immutable=(True, False), binaryData=({"b": "aGk="},))}


def _configmap_change(random: Random) -> Json:
    return random.choice(
        (
            {"data": {random.choice("klm"): random.choice(("new", None, "x"))}},
            {"metadata": {"labels": {"app": random.choice(("x", "y", None))}}},
            {"binaryData": {"c": "aGk="}},
            {"immutable": True},
        )
    )


def _secret(random: Random, name: str) -> Json:
    tree = objects.secret(name, **metadata(random))
    return {**tree, **_some(random, type=("Opaque", "example.com/own"), data=({"pin": "MTIz"},))}


def _secret_change(random: Random) -> Json:
    return random.choice(
        (
            {"stringData": {"user": "eve"}},
            {"data": {"pin": None}},
            {"type": "other"},
            {"metadata": {"labels": {"app": "y"}}},
        )
    )


def _container(random: Random, name: str = "main") -> Json:
    quantities = ({"cpu": "100m"}, {"cpu": "0.5", "memory": "64Mi"}, {"memory": "1Gi"})
    optional = _some(
        random,
        command=(["sleep", "1"],),
        args=(["-v"], []),
        env=([{"name": "A", "value": "1"}], [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
        ports=([{"containerPort": 80}], [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]),
        resources=tuple({"requests": one, "limits": one} for one in quantities),
        readinessProbe=({"httpGet": {"path": "/", "port": 80}}, {"exec": {"command": ["true"]}, "periodSeconds": 3}),
        imagePullPolicy=("Always", "IfNotPresent"),
        securityContext=({"runAsUser": 1000, "privileged": False},),
    )
    return {"name": name, "image": random.choice(("example.com/app:1", "example.com/app", "busybox:1.36")), **optional}


def pod_spec(random: Random, **fixed: Json) -> Json:
    optional = _some(
        random,
        nodeSelector=({"disk": "ssd"},),
        terminationGracePeriodSeconds=(0, 5),
        tolerations=([{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],),
        volumes=([{"name": "v", "emptyDir": {}}], [{"name": "c", "configMap": {"name": "x"}}]),
        hostNetwork=(False,),
        enableServiceLinks=(False,),
        priorityClassName=("system-node-critical",),
    )
    containers = [_container(random), *([_container(random, "side")] if random.random() < 0.2 else [])]
    return {"containers": containers, **optional, **fixed}


def _pod(random: Random, name: str) -> Json:
    optional = _some(random, restartPolicy=("Always", "Never", "OnFailure"), nodeName=("node-1",))
    return objects.pod(name, pod_spec(random, **optional), **metadata(random))


def _pod_change(random: Random) -> Json:
    return random.choice(
        (
            {"metadata": {"labels": {"app": random.choice(("x", None))}}},
            {"metadata": {"finalizers": None}},
            {"spec": {"activeDeadlineSeconds": random.choice((5, 60))}},
            {"spec": {"restartPolicy": "Never"}},
            {"spec": {"nodeName": "node-2"}},
            {"spec": {"terminationGracePeriodSeconds": 1}},
        )
    )


def _pod_status(random: Random) -> Json:
    condition = {
        "type": "Ready",
        "status": random.choice(("True", "False")),
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    return random.choice(
        (
            {"status": {"phase": random.choice(("Running", "Failed", "Succeeded"))}},
            {"status": {"podIP": "10.1.1.1", "podIPs": [{"ip": "10.1.1.1"}]}},
            {"status": {"conditions": [condition]}},
            {"status": {"phase": "Running", "startTime": "2024-01-01T00:00:00Z", "message": "m"}},
        )
    )


def _service(random: Random, name: str) -> Json:
    ports = random.choice(
        (
            [{"port": 80}],
            [{"port": 80, "targetPort": "http", "protocol": "TCP"}],
            [{"name": "a", "port": 80}, {"name": "b", "port": 81, "targetPort": 8081}],
        )
    )
    optional = _some(
        random, type=("ClusterIP", "NodePort"), sessionAffinity=("None", "ClientIP"), clusterIP=("None", "")
    )
    if optional.get("type") == "NodePort":
        optional.pop("clusterIP", None)
    spec = {"ports": ports, "selector": {"app": "x"}, **optional}
    return objects.service(name, spec, **metadata(random))


def _service_change(random: Random) -> Json:
    return random.choice(
        (
            {"spec": {"selector": {"app": random.choice(("y", None))}}},
            {"spec": {"ports": [{"port": 90}]}},
            {"spec": {"type": random.choice(("ClusterIP", "NodePort", "ExternalName"))}},
            {"spec": {"sessionAffinity": "ClientIP"}},
            {"spec": {"publishNotReadyAddresses": True}},
        )
    )


def _workload(kind: str) -> Build:
    def build(random: Random, name: str) -> Json:
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": pod_spec(random)}
        optional = _some(random, replicas=(0, 2), minReadySeconds=(5,))
        if kind == "Deployment":
            strategies = ({"type": "Recreate"}, {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "50%"}})
            optional |= _some(random, strategy=strategies, paused=(True,), revisionHistoryLimit=(3,))
        if kind == "StatefulSet":
            optional |= {"serviceName": "s", **_some(random, podManagementPolicy=("Parallel",))}
        return objects.workload(kind, name, {"template": template, **optional}, **metadata(random))

    return build


def _workload_change(random: Random) -> Json:
    return random.choice(
        (
            {"spec": {"replicas": random.choice((0, 1, 3, None))}},
            {"spec": {"template": {"metadata": {"annotations": {"again": "yes"}}}}},
            {"spec": {"selector": {"matchLabels": {"app": "other"}}}},
            {"metadata": {"labels": {"app": "z"}}},
            {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}},
        )
    )


def _workload_status(random: Random) -> Json:
    return {"status": random.choice(({"replicas": 2, "readyReplicas": 1}, {"replicas": 1, "observedGeneration": 1}))}


def _job(random: Random, name: str) -> Json:
    optional = _some(
        random,
        parallelism=(1, 2),
        completions=(1, 3),
        backoffLimit=(0, 4),
        suspend=(True, False),
        ttlSecondsAfterFinished=(60,),
        activeDeadlineSeconds=(30,),
    )
    template = {"spec": pod_spec(random, restartPolicy=random.choice(("Never", "OnFailure")))}
    return objects.job(name, {"template": template, **optional}, **metadata(random))


def _job_change(random: Random) -> Json:
    return random.choice(
        (
            {"spec": {"suspend": random.choice((True, False))}},
            {"spec": {"parallelism": random.choice((0, 2))}},
            {"spec": {"completions": 5}},
            {"spec": {"backoffLimit": 1}},
            {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}},
            {"metadata": {"labels": {"app": "z"}}},
        )
    )


def _job_status(random: Random) -> Json:
    return {"status": random.choice(({"active": 1}, {"startTime": "2024-01-01T00:00:00Z", "active": 1, "ready": 0}))}


def _lease(random: Random, name: str) -> Json:
    spec = _some(
        random,
        holderIdentity=("me", "you"),
        leaseDurationSeconds=(15,),
        renewTime=("2024-01-01T00:00:00.000000Z",),
        leaseTransitions=(0, 1),
    )
    return objects.lease(name, {"holderIdentity": "me", **spec}, **metadata(random))


def _lease_change(random: Random) -> Json:
    return {
        "spec": random.choice(
            ({"holderIdentity": "you"}, {"leaseTransitions": 2}, {"renewTime": "2024-02-01T00:00:00.5Z"})
        )
    }


def _account(random: Random, name: str) -> Json:
    return {
        **objects.service_account(name, **metadata(random)),
        **_some(random, automountServiceAccountToken=(False, True)),
    }


def _account_change(random: Random) -> Json:
    return random.choice(({"imagePullSecrets": [{"name": "r"}]}, {"metadata": {"annotations": {"a": "b"}}}))


def _role(random: Random, name: str) -> Json:
    rules = random.choice(
        (
            [],
            [{"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get"]}],
            [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
            [
                {
                    "apiGroups": ["apps"],
                    "resources": ["deployments"],
                    "resourceNames": ["web"],
                    "verbs": ["get", "patch"],
                }
            ],
        )
    )
    return objects.role(name, rules, **metadata(random))


def _role_change(random: Random) -> Json:
    return random.choice(({"rules": []}, {"rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}]}))


def _binding(random: Random, name: str) -> Json:
    return objects.role_binding(name, random.choice(("reader", "writer")), **metadata(random))


def _binding_change(random: Random) -> Json:
    return random.choice(
        ({"subjects": [{"kind": "Group", "name": "team"}]}, {"roleRef": {"name": "other"}}, {"subjects": None})
    )


def _claim(random: Random, name: str) -> Json:
    optional = _some(
        random, storageClassName=("fast", ""), volumeMode=("Filesystem", "Block"), accessModes=(["ReadOnlyMany"],)
    )
    return objects.claim(name, optional, **metadata(random))


def _claim_change(random: Random) -> Json:
    return random.choice(
        (
            {"spec": {"resources": {"requests": {"storage": "5Gi"}}}},
            {"spec": {"volumeName": "v"}},
            {"metadata": {"labels": {"app": "z"}}},
        )
    )


def _ingress(random: Random, name: str) -> Json:
    optional = _some(
        random,
        ingressClassName=("nginx",),
        tls=([{"hosts": ["example.com"], "secretName": "s"}],),
        defaultBackend=({"service": {"name": "d", "port": {"name": "http"}}},),
    )
    return objects.ingress(name, optional, **metadata(random))


def _ingress_change(random: Random) -> Json:
    return random.choice(
        ({"spec": {"ingressClassName": "other"}}, {"spec": {"rules": None}}, {"metadata": {"labels": {"a": "b"}}})
    )


def _policy(random: Random, name: str) -> Json:
    spec: Json = random.choice(
        (
            {"podSelector": {}},
            {
                "podSelector": {"matchLabels": {"app": "x"}},
                "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}]}],
            },
            {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
        )
    )
    return objects.network_policy(name, spec, **metadata(random))


def _policy_change(random: Random) -> Json:
    return random.choice(
        ({"spec": {"policyTypes": ["Ingress"]}}, {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}})
    )


def _widget(random: Random, name: str) -> Json:
    optional = _some(
        random,
        replicas=(0, 2),
        mode=("Fast", "Safe"),
        title=("lamp",),
        ratio=(0.5, 2, 1.5),
        enabled=(True, False, None),
        port=(80, "http"),
        free=({"any": {"thing": [1, 2]}},),
        labels=({"a": "b"},),
        tags=(["x", "y"], []),
        parts=([{"name": "p"}], [{"name": "p", "count": 4}, {"name": "q"}]),
    )
    return objects.widget(name, {"size": random.choice((3, 10)), **optional}, **metadata(random))


def _widget_change(random: Random) -> Json:
    return random.choice(
        (
            {"spec": {"size": random.choice((1, 4, 20))}},
            {"spec": {"mode": random.choice(("Fast", "Odd", None))}},
            {"spec": {"parts": [{"name": "r"}]}},
            {"spec": {"unknown": 1}},
            {"spec": {"replicas": random.choice((1, 50))}},
            {"metadata": {"labels": {"app": "z"}}},
        )
    )


def _widget_status(random: Random) -> Json:
    return {"status": random.choice(({"phase": "Ready"}, {"replicas": 2, "selector": "app=x"}, {"phase": 5}))}


SUBJECTS: tuple[Subject, ...] = (
    Subject(resource="configmaps", build=_configmap, change=_configmap_change),
    Subject(resource="secrets", build=_secret, change=_secret_change, fields=("metadata.name", "type")),
    Subject(
        resource="pods",
        build=_pod,
        change=_pod_change,
        status=_pod_status,
        fields=("metadata.name", "spec.nodeName", "status.phase"),
    ),
    Subject(resource="services", build=_service, change=_service_change),
    Subject(
        resource="deployments",
        build=_workload("Deployment"),
        change=_workload_change,
        status=_workload_status,
        has_scale=True,
    ),
    Subject(
        resource="statefulsets",
        build=_workload("StatefulSet"),
        change=_workload_change,
        status=_workload_status,
        has_scale=True,
    ),
    Subject(resource="jobs", build=_job, change=_job_change, status=_job_status),
    Subject(resource="leases", build=_lease, change=_lease_change),
    Subject(resource="serviceaccounts", build=_account, change=_account_change),
    Subject(resource="roles", build=_role, change=_role_change),
    Subject(resource="rolebindings", build=_binding, change=_binding_change),
    Subject(resource="persistentvolumeclaims", build=_claim, change=_claim_change),
    Subject(resource="ingresses", build=_ingress, change=_ingress_change),
    Subject(resource="networkpolicies", build=_policy, change=_policy_change),
    Subject(
        resource="widgets",
        build=_widget,
        change=_widget_change,
        status=_widget_status,
        has_scale=True,
        has_strategic_patch=False,
        fields=("metadata.name", "spec.mode"),
    ),
)
