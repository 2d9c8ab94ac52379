"""Changes that are easy to get almost right: made by an update, deleted twice, counted, judged again, emptied."""

from conformance.model import Call, Json, ReadWatch, Sequence, Step, sequence
from conformance.objects import (
    claim,
    configmap,
    container,
    cronjob,
    endpoint_slice,
    ingress,
    job,
    lease,
    network_policy,
    pod,
    pod_spec,
    quota,
    role,
    role_binding,
    secret,
    service,
    service_account,
    template,
    widget,
    workload,
)
from conformance.requests import apply, create, delete, get, json_patch, merge, update, watch

OPTIONS: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
ON_NODE = pod_spec(nodeName="node-1")

# A legal object of each kind that people write by hand.
WRITTEN: tuple[tuple[str, Json], ...] = (
    ("configmaps", configmap("a")),
    ("secrets", secret("a")),
    ("serviceaccounts", service_account("a")),
    ("pods", pod("a")),
    ("services", service("a")),
    ("deployments", workload("Deployment", "a", {"template": template({"app": "a"})})),
    ("statefulsets", workload("StatefulSet", "a", {"template": template({"app": "a"}), "serviceName": "s"})),
    ("replicasets", workload("ReplicaSet", "a", {"template": template({"app": "a"})})),
    ("daemonsets", workload("DaemonSet", "a", {"template": template({"app": "a"})})),
    ("jobs", job("a")),
    ("cronjobs", cronjob("a")),
    ("leases", lease("a")),
    ("roles", role("a")),
    ("rolebindings", role_binding("a", "reader")),
    ("persistentvolumeclaims", claim("a")),
    ("ingresses", ingress("a")),
    ("networkpolicies", network_policy("a")),
    ("resourcequotas", quota("a", {"pods": "5"})),
    ("endpointslices", endpoint_slice("a")),
    ("widgets", widget("a")),
)
WRONG_METADATA: tuple[Json, ...] = (
    {"finalizers": ["text"]},
    {"labels": {"bad key!": "x"}},
    {"annotations": {"bad key!": "x"}},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": "u"}]},
)


def _judged_again(resource: str, body: Json) -> Sequence:
    wrong: list[Step] = [merge(resource, "a", {"metadata": part}) for part in WRONG_METADATA]
    return sequence(f"wrong-metadata-{resource}", create(resource, body), wrong, get(resource, "a"))


def _made_again(resource: str, body: Json) -> list[Step]:
    """Put an object that is gone, with its old uid, and without."""
    with_uid = {**body, "metadata": {**body["metadata"], "uid": "${a.uid}"}}
    return [
        create(resource, body),
        delete(resource, "a"),
        update(resource, "a", with_uid),
        get(resource, "a"),
        update(resource, "a", body),
        delete(resource, "a"),
    ]


def _job_status(name: str, **status: Json) -> Call:
    return merge("jobs", name, {"status": status}, "status")


def _indexed(name: str, completions: int, parallelism: int) -> Json:
    return job(
        name,
        {
            "template": {"spec": pod_spec(restartPolicy="Never")},
            "completionMode": "Indexed",
            "completions": completions,
            "parallelism": parallelism,
        },
    )


SEQUENCES = (
    *(_judged_again(resource, body) for resource, body in WRITTEN),
    sequence(
        "made-by-update-again",
        _made_again("leases", lease("a")),
        _made_again("services", service("a")),
        _made_again("roles", role("a")),
        _made_again("rolebindings", role_binding("a", "reader")),
        _made_again("configmaps", configmap("a")),
        create("roles", role("b")),
        merge("roles", "b", {"rules": [{"verbs": ["get"]}]}),
        create("rolebindings", role_binding("b", "reader")),
        merge("rolebindings", "b", {"subjects": [{"kind": "Odd", "name": "x"}]}),
        create("persistentvolumeclaims", claim("b")),
        merge("persistentvolumeclaims", "b", {"spec": None}),
    ),
    sequence(
        "generation-of-annotations",
        [
            step
            for resource, body in WRITTEN
            if resource in ("deployments", "statefulsets", "daemonsets", "replicasets", "jobs", "cronjobs", "ingresses")
            for step in (
                create(resource, body),
                merge(resource, "a", {"metadata": {"annotations": {"note": "one"}}}),
                merge(resource, "a", {"metadata": {"labels": {"note": "one"}}}),
                merge(resource, "a", {"metadata": {"annotations": {"note": "two"}}}, "status"),
                merge(resource, "a", {"metadata": {"annotations": {"note": None}}}),
            )
        ],
    ),
    sequence(
        "generation-of-empty-lists",
        create("networkpolicies", network_policy("a")),
        merge("networkpolicies", "a", {"spec": {"egress": []}}),
        merge("networkpolicies", "a", {"metadata": {"labels": {"a": "b"}}}),
        merge("networkpolicies", "a", {"spec": {"podSelector": {"matchLabels": {}}}}),
        merge("networkpolicies", "a", {"spec": {"ingress": [{"from": []}]}}),
        merge("networkpolicies", "a", {"spec": {"ingress": [{}]}}),
        json_patch("networkpolicies", "a", [{"op": "add", "path": "/spec/egress", "value": []}]),
        update("networkpolicies", "a", network_policy("a", {"podSelector": {}, "ingress": []})),
        update("networkpolicies", "a", network_policy("a", {"podSelector": {}, "ingress": []})),
        update("networkpolicies", "a", network_policy("a", {"podSelector": {}})),
        apply("networkpolicies", "a", network_policy("a", {"podSelector": {}, "egress": []})),
        create("ingresses", ingress("a")),
        merge("ingresses", "a", {"spec": {"tls": []}}),
        create("deployments", workload("Deployment", "a", {"template": template({"app": "a"})})),
        merge("deployments", "a", {"spec": {"template": {"spec": {"tolerations": []}}}}),
    ),
    sequence(
        "job-counters",
        create("jobs", _indexed("elastic", 3, 3)),
        _job_status("elastic", succeeded=2, failed=1),
        _job_status("elastic", succeeded=1, failed=1),
        _job_status("elastic", failed=0),
        create("jobs", _indexed("fixed", 3, 2)),
        _job_status("fixed", succeeded=2),
        _job_status("fixed", succeeded=1),
        create("jobs", job("plain")),
        _job_status("plain", succeeded=1),
        _job_status("plain", succeeded=0),
    ),
    sequence(
        "deleted-twice",
        watch("w", "pods"),
        create("jobs", job("a")),
        delete("jobs", "a", {**OPTIONS, "propagationPolicy": "Foreground"}),
        delete("jobs", "a"),
        delete("jobs", "a", {**OPTIONS, "orphanDependents": False}),
        create("configmaps", configmap("a", finalizers=["example.com/hold"])),
        delete("configmaps", "a", {**OPTIONS, "propagationPolicy": "Orphan"}),
        delete("configmaps", "a"),
        delete("configmaps", "a", {**OPTIONS, "propagationPolicy": "Foreground"}),
        delete("configmaps", "a", {**OPTIONS, "propagationPolicy": "Foreground"}),
        delete("configmaps", "a", {**OPTIONS, "propagationPolicy": "Background"}),
        create("pods", pod("p", ON_NODE)),
        delete("pods", "p"),
        delete("pods", "p", {**OPTIONS, "propagationPolicy": "Orphan"}),
        delete("pods", "p", {**OPTIONS, "gracePeriodSeconds": 30}),
        merge("pods", "p", {"status": {"phase": "Succeeded"}}, "status"),
        delete("pods", "p"),
        delete("pods", "p", {**OPTIONS, "gracePeriodSeconds": 10, "propagationPolicy": "Orphan"}),
        delete("pods", "p", {**OPTIONS, "gracePeriodSeconds": 20}),
        delete("pods", "p", {**OPTIONS, "gracePeriodSeconds": 0}),
        merge("pods", "p", {"metadata": {"finalizers": None}}),
        create("pods", pod("q", ON_NODE)),
        delete("pods", "q", {**OPTIONS, "gracePeriodSeconds": -5}),
        delete("pods", "q", {**OPTIONS, "gracePeriodSeconds": 0}),
        get("pods", "q"),
        ReadWatch(watch="w"),
    ),
    sequence(
        "custom-without-a-name",
        create("widgets", {"apiVersion": "conformance.dev/v1", "kind": "Widget", "metadata": {}, "spec": {"size": 3}}),
        create("widgets", widget("Bad_Name")),
        create("widgets", widget("a", {"size": 3, "port": {"x": "y"}})),
        create(
            "widgets", widget("a", {"size": 3, "port": {"x": {"y": [1]}, "z": 1}}), query={"fieldValidation": "Strict"}
        ),
        create("widgets", widget("a", {"size": 3, "port": ["x"]})),
        create("widgets", widget("a", {"size": 3, "title": {"x": 1}, "tags": {"x": 1}, "ratio": {}})),
    ),
    sequence(
        "apply-unreadable-values",
        apply("pods", "a", pod("a", pod_spec(containers=[container(resources={"limits": {"cpu": "much"}})]))),
        create("pods", pod("a")),
        apply("pods", "a", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}),
        apply("pods", "a", pod("a", pod_spec(containers=[container(resources={"limits": {"cpu": "much"}})]))),
        apply("secrets", "a", {**secret("a"), "data": {"pin": "not base64!"}}),
        apply("leases", "a", lease("a", {"holderIdentity": "me", "renewTime": "yesterday"})),
        apply("jobs", "a", {**job("a"), "status": {"startTime": "yesterday"}}),
        apply("configmaps", "a", configmap("a", creationTimestamp="yesterday")),
        apply("services", "a", service("a", {"ports": [{"port": 80, "targetPort": True}]})),
        apply("deployments", "a", workload("Deployment", "a", {"template": template({"app": "a"}), "replicas": 1.5})),
    ),
)
