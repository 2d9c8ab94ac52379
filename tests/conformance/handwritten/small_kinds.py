"""Leases, Events, claims, quotas, nodes and others: a life each, and the refusals of their own."""

from conformance.model import Call, Json, Settle, sequence
from conformance.objects import claim, configmap, container, event, lease, node, pod, pod_spec, quota
from conformance.requests import create, delete, get, listing, merge, update

NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/${ns}/events"
NEW_EVENT: Json = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "new"},
    "eventTime": "2024-05-06T07:08:09.123456Z",
    "reportingController": "example.com/controller",
    "reportingInstance": "one",
    "action": "Starting",
    "reason": "Started",
    "regarding": {"kind": "Pod", "name": "web", "namespace": "${ns}"},
    "note": "up",
    "type": "Normal",
}

SEQUENCES = (
    sequence(
        "lease",
        create("leases", lease("a")),
        create(
            "leases",
            lease(
                "full",
                {
                    "holderIdentity": "me",
                    "leaseDurationSeconds": 15,
                    "leaseTransitions": 1,
                    "acquireTime": "2024-01-01T00:00:00.000000Z",
                    "renewTime": "2024-01-01T00:00:01.5Z",
                },
            ),
        ),
        create("leases", lease("b", {"leaseDurationSeconds": 0})),
        create("leases", lease("b", {"leaseTransitions": -1})),
        create("leases", lease("b", {"renewTime": "yesterday"})),
        update("leases", "a", lease("a", {"holderIdentity": "you"}, resourceVersion="${a.rv}")),
        update("leases", "a", lease("a", {"holderIdentity": "late"}, resourceVersion="${a.rv.first}")),
        merge("leases", "a", {"spec": {"renewTime": "2024-02-03T04:05:06.789Z"}}),
        get("leases", "a"),
        delete("leases", "a"),
    ),
    sequence(
        "events",
        create("events", event("old")),
        create(
            "events",
            {
                **event("count"),
                "count": 3,
                "firstTimestamp": "2024-01-01T00:00:00Z",
                "lastTimestamp": "2024-01-01T00:00:05Z",
            },
        ),
        create("events", {**event("bad"), "involvedObject": {"namespace": "elsewhere"}}),
        create("events", {**event("bad"), "type": "Odd"}),
        Call(method="POST", path=NEW_EVENTS, body=NEW_EVENT),
        Call(method="POST", path=NEW_EVENTS, body={**NEW_EVENT, "metadata": {"name": "x"}, "reason": ""}),
        Call(method="POST", path=NEW_EVENTS, body={**NEW_EVENT, "metadata": {"name": "x"}, "eventTime": None}),
        Call(method="POST", path=NEW_EVENTS, body={**NEW_EVENT, "metadata": {"name": "x"}, "type": "Odd"}),
        Call(method="GET", path=f"{NEW_EVENTS}/old"),
        get("events", "new"),
        listing("events"),
        Call(method="GET", path=NEW_EVENTS),
        merge("events", "old", {"count": 2}),
        delete("events", "old"),
    ),
    sequence(
        "claims",
        create("persistentvolumeclaims", claim("a")),
        create("persistentvolumeclaims", claim("b", {"accessModes": []})),
        create("persistentvolumeclaims", claim("b", {"accessModes": ["Odd"]})),
        create("persistentvolumeclaims", claim("b", {"resources": {}})),
        create("persistentvolumeclaims", claim("b", {"resources": {"requests": {"storage": "0"}}})),
        create("persistentvolumeclaims", claim("b", {"volumeMode": "Odd"})),
        create("persistentvolumeclaims", claim("b", {"storageClassName": "Bad_Name"})),
        merge("persistentvolumeclaims", "a", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}),
        merge("persistentvolumeclaims", "a", {"spec": {"accessModes": ["ReadWriteMany"]}}),
        merge("persistentvolumeclaims", "a", {"status": {"phase": "Bound"}}, "status"),
        delete("persistentvolumeclaims", "a"),
        get("persistentvolumeclaims", "a"),
    ),
    sequence(
        "quota-objects",
        create("resourcequotas", quota("q", {"pods": "2", "requests.cpu": "1", "configmaps": "3"})),
        create("resourcequotas", quota("r", {"pods": "-1"})),
        create("resourcequotas", quota("r", {"bad resource": "1"})),
        merge("resourcequotas", "q", {"status": {"hard": {"pods": "2"}, "used": {"pods": "1"}}}, "status"),
        get("resourcequotas", "q"),
        delete("resourcequotas", "q"),
    ),
    sequence(
        "quota-admission",
        create("resourcequotas", quota("q", {"configmaps": "1", "pods": "1", "requests.cpu": "500m"})),
        merge(
            "resourcequotas",
            "q",
            {
                "status": {
                    "hard": {"configmaps": "1", "pods": "1", "requests.cpu": "500m"},
                    "used": {"configmaps": "0", "pods": "0", "requests.cpu": "0"},
                }
            },
            "status",
        ),
        Settle(),
        create("configmaps", configmap("a")),
        create("configmaps", configmap("b")),
        create("pods", pod("none")),
        create("pods", pod("big", pod_spec(containers=[container(resources={"requests": {"cpu": "1"}})]))),
        create("pods", pod("fits", pod_spec(containers=[container(resources={"requests": {"cpu": "200m"}})]))),
        create("pods", pod("second", pod_spec(containers=[container(resources={"requests": {"cpu": "100m"}})]))),
        get("resourcequotas", "q"),
    ),
    sequence(
        "limit-range",
        create(
            "limitranges",
            {
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "l"},
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "default": {"cpu": "500m"},
                            "defaultRequest": {"cpu": "100m"},
                            "max": {"cpu": "1"},
                            "min": {"cpu": "50m"},
                        }
                    ]
                },
            },
        ),
        Settle(),
        create("pods", pod("a")),
        create(
            "pods",
            pod("b", pod_spec(containers=[container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "2"}})])),
        ),
        create("pods", pod("c", pod_spec(containers=[container(resources={"requests": {"cpu": "10m"}})]))),
        create(
            "limitranges",
            {
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "m"},
                "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]},
            },
        ),
    ),
    sequence(
        "nodes",
        create("nodes", node("${seq}-1", labels={"x": "y"})),
        merge("nodes", "${seq}-1", {"spec": {"unschedulable": True}}),
        merge("nodes", "${seq}-1", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}),
        merge("nodes", "${seq}-1", {"spec": {"taints": [{"key": "k", "effect": "Odd"}]}}),
        merge(
            "nodes",
            "${seq}-1",
            {"status": {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}},
            "status",
        ),
        merge("nodes", "${seq}-1", {"spec": {"podCIDR": "10.1.0.0/24"}}),
        merge("nodes", "${seq}-1", {"spec": {"podCIDR": "10.2.0.0/24"}}),
        merge("nodes", "${seq}-1", {"spec": {"providerID": "a"}}),
        merge("nodes", "${seq}-1", {"spec": {"providerID": "b"}}),
        get("nodes", "${seq}-1"),
        delete("nodes", "${seq}-1"),
    ),
    sequence(
        "disruption-and-autoscaling",
        create(
            "poddisruptionbudgets",
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "a"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
            },
        ),
        create(
            "poddisruptionbudgets",
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"},
                "spec": {"minAvailable": 1, "maxUnavailable": 1},
            },
        ),
        create(
            "horizontalpodautoscalers",
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "a"},
                "spec": {
                    "maxReplicas": 3,
                    "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                },
            },
        ),
        create(
            "horizontalpodautoscalers",
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "b"},
                "spec": {"maxReplicas": 0, "scaleTargetRef": {}},
            },
        ),
        create(
            "storageclasses",
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": "${seq}"},
                "provisioner": "x/y",
            },
        ),
        merge("storageclasses", "${seq}", {"provisioner": "z"}),
        delete("storageclasses", "${seq}"),
        Call(method="GET", path="/api/v1/componentstatuses/none"),
        Call(method="POST", path="/api/v1/componentstatuses", body={}),
    ),
)
