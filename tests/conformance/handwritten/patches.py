"""Patches of each type: results, refusals, and the ownership that server-side apply keeps."""

from conformance.model import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Call, sequence
from conformance.objects import configmap, container, pod, pod_spec, service, widget, workload
from conformance.requests import apply, at, create, delete, get, json_patch, merge, strategic, update


def _deployment_apply(replicas: int | None = None, image: str = "example.com/app:1") -> object:
    tree = workload("Deployment", "web")
    tree["spec"]["template"]["spec"]["containers"][0]["image"] = image
    if replicas is not None:
        tree["spec"]["replicas"] = replicas
    return tree


SEQUENCES = (
    sequence(
        "json-patch",
        create("configmaps", configmap("a", {"k": "v", "l": "w"}, labels={"x": "y"})),
        json_patch("configmaps", "a", [{"op": "replace", "path": "/data/k", "value": "new"}]),
        json_patch("configmaps", "a", [{"op": "add", "path": "/data/m", "value": "added"}]),
        json_patch("configmaps", "a", [{"op": "remove", "path": "/data/l"}]),
        json_patch("configmaps", "a", [{"op": "test", "path": "/data/k", "value": "new"}]),
        json_patch("configmaps", "a", [{"op": "test", "path": "/data/k", "value": "old"}]),
        json_patch("configmaps", "a", [{"op": "move", "from": "/data/k", "path": "/data/n"}]),
        json_patch("configmaps", "a", [{"op": "copy", "from": "/data/n", "path": "/data/o"}]),
        json_patch("configmaps", "a", [{"op": "remove", "path": "/data/none"}]),
        json_patch("configmaps", "a", [{"op": "replace", "path": "/none/x", "value": 1}]),
        json_patch("configmaps", "a", [{"op": "jump", "path": "/data/k"}]),
        json_patch("configmaps", "a", [{"op": "add", "path": "/data/k"}]),
        json_patch("configmaps", "a", [{"op": "add", "path": "/data/num", "value": 5}]),
        json_patch("configmaps", "a", {"op": "add"}),
        json_patch("configmaps", "a", "not json"),
        json_patch("configmaps", "a", []),
        json_patch("configmaps", "a", [{"op": "add", "path": "/metadata/labels/a~1b", "value": "c"}]),
        json_patch("configmaps", "a", [{"op": "replace", "path": "/kind", "value": "Secret"}]),
        json_patch("configmaps", "none", [{"op": "add", "path": "/data/x", "value": "y"}]),
    ),
    sequence(
        "merge-patch",
        create("configmaps", configmap("a", {"k": "v"}, labels={"x": "y"}, annotations={"a": "b"})),
        merge("configmaps", "a", {"data": {"k": None, "l": "w"}, "metadata": {"labels": None}}),
        merge("configmaps", "a", {"data": None}),
        merge("configmaps", "a", {"data": {"n": 5}}),
        merge("configmaps", "a", []),
        merge("configmaps", "a", "null"),
        merge("configmaps", "a", "not json"),
        merge("configmaps", "a", {"unknown": 1}),
        merge("configmaps", "a", {"unknown": 1}, query={"fieldValidation": "Strict"}),
        merge("configmaps", "a", {"unknown": 1}, query={"fieldValidation": "Ignore"}),
        merge("configmaps", "a", {"kind": "Secret"}),
        merge("configmaps", "a", {"apiVersion": "v2"}),
        merge("configmaps", "a", {"metadata": None}),
        merge("configmaps", "a", ""),
    ),
    sequence(
        "patch-types-refused",
        create("configmaps", configmap("a")),
        Call(method="PATCH", path=at("configmaps", "a"), body={"data": {}}),
        Call(method="PATCH", path=at("configmaps", "a"), body={"data": {}}, headers={"Content-Type": "text/plain"}),
        Call(
            method="PATCH", path=at("configmaps", "a"), body={"data": {}}, headers={"Content-Type": "application/yaml"}
        ),
        create("widgets", widget("w")),
        strategic("widgets", "w", {"spec": {"size": 4}}),
        Call(method="PATCH", path=at("configmaps"), body={"data": {}}, headers={"Content-Type": MERGE_PATCH}),
        Call(
            method="PATCH",
            path=at("configmaps", "a"),
            body={"data": {"k": "1"}},
            headers={"Content-Type": f"{MERGE_PATCH}; charset=utf-8"},
        ),
        merge("configmaps", "a", {"data": {}}, query={"force": "true"}),
        merge("configmaps", "a", {"data": {}}, query={"fieldManager": "x" * 129}),
        merge("configmaps", "a", {"data": {}}, query={"fieldValidation": "Odd"}),
        merge("configmaps", "a", {"data": {}}, query={"dryRun": "Odd"}),
        Call(method="PATCH", path=at("configmaps", "a"), body=configmap("a"), headers={"Content-Type": APPLY_PATCH}),
        Call(method="PATCH", path=at("configmaps", "a"), body="- a\n- b", headers={"Content-Type": JSON_PATCH}),
        Call(
            method="PATCH",
            path=at("configmaps", "a"),
            body="data:\n  k: v\n",
            headers={"Content-Type": STRATEGIC_PATCH},
        ),
    ),
    sequence(
        "strategic-pod",
        create(
            "pods",
            pod("a", pod_spec(containers=[container("main", env=[{"name": "A", "value": "1"}]), container("side")])),
        ),
        strategic("pods", "a", {"spec": {"containers": [{"name": "main", "image": "example.com/app:2"}]}}),
        strategic("pods", "a", {"metadata": {"labels": {"x": "y"}}}),
        strategic("pods", "a", {"metadata": {"labels": {"x": None}}}),
        strategic("pods", "a", {"metadata": {"finalizers": ["example.com/a"]}}),
        strategic("pods", "a", {"metadata": {"finalizers": ["example.com/b"]}}),
        strategic("pods", "a", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
        strategic("pods", "a", {"spec": {"containers": [{"image": "example.com/app:3"}]}}),
        strategic("pods", "a", {"spec": {"containers": [{"name": "main", "$patch": "delete"}]}}),
        strategic("pods", "a", {"spec": {"tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}]}}),
        strategic("pods", "a", {"spec": {"activeDeadlineSeconds": 30}}),
        strategic("pods", "a", {"$patch": "replace", "metadata": {"name": "a"}}),
    ),
    sequence(
        "strategic-deployment",
        create("deployments", workload("Deployment", "web")),
        strategic(
            "deployments",
            "web",
            {"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}]}}}},
        ),
        strategic(
            "deployments",
            "web",
            {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [
                                {"name": "main", "env": [{"name": "B", "value": "2"}]},
                                {"name": "side", "image": "example.com/side:1"},
                            ],
                            "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
                        }
                    }
                }
            },
        ),
        strategic(
            "deployments",
            "web",
            {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}},
        ),
        strategic("deployments", "web", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
        strategic("deployments", "web", {"spec": {"replicas": 3}}),
        strategic("deployments", "web", {"spec": {"replicas": None}}),
        strategic(
            "deployments",
            "web",
            {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [{"name": "main", "ports": [{"containerPort": 80}, {"containerPort": 81}]}]
                        }
                    }
                }
            },
        ),
        strategic(
            "deployments",
            "web",
            {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [{"name": "main", "ports": [{"containerPort": 80, "name": "http"}]}],
                            "volumes": [{"name": "v", "emptyDir": {}}],
                        }
                    }
                }
            },
        ),
        strategic("deployments", "web", {"spec": {"template": {"spec": {"volumes": [{"$patch": "replace"}]}}}}),
        strategic("deployments", "web", {"spec": {"template": {"spec": {"containers": "x"}}}}),
        strategic("deployments", "web", {"spec": {"$patch": "odd"}}),
    ),
    sequence(
        "strategic-service",
        create("services", service("a", {"ports": [{"port": 80, "name": "http"}, {"port": 443, "name": "https"}]})),
        strategic("services", "a", {"spec": {"ports": [{"port": 80, "name": "web"}]}}),
        strategic("services", "a", {"spec": {"ports": [{"port": 443, "$patch": "delete"}]}}),
        strategic("services", "a", {"spec": {"selector": {"app": "b"}}}),
        strategic("services", "a", {"spec": {"type": "NodePort"}}),
        strategic("services", "a", {"spec": {"type": "ClusterIP"}}),
    ),
    sequence(
        "apply-create-and-change",
        apply("configmaps", "a", configmap("a", {"k": "1", "l": "2"}, labels={"x": "y"})),
        apply("configmaps", "a", configmap("a", {"k": "1"})),
        apply("configmaps", "a", configmap("a", {"k": "1"})),
        apply("configmaps", "a", configmap("a", {"k": "other"}), manager="second"),
        apply("configmaps", "a", configmap("a", {"k": "other"}), manager="second", force=True),
        apply("configmaps", "a", configmap("a", {"k": "1", "m": "3"})),
        apply("configmaps", "a", configmap("a", {"m": "3"})),
        apply("configmaps", "a", configmap("a", {"new": "x"}), manager="second"),
        get("configmaps", "a"),
        merge("configmaps", "a", {"data": {"m": "merged"}}, query={"fieldManager": "merger"}),
        apply("configmaps", "a", configmap("a", {"m": "3"})),
        delete("configmaps", "a"),
        managed=True,
    ),
    sequence(
        "apply-shared-ownership",
        apply("configmaps", "a", configmap("a", {"k": "1"})),
        apply("configmaps", "a", configmap("a", {"k": "1"}), manager="second"),
        apply("configmaps", "a", configmap("a", {"k": "2"})),
        apply("configmaps", "a", configmap("a", {"z": "2"})),
        get("configmaps", "a"),
        apply("configmaps", "a", configmap("a", {"z": "2"}), query={"dryRun": "All"}),
        managed=True,
    ),
    sequence(
        "apply-deployment",
        apply("deployments", "web", _deployment_apply(2)),
        apply("deployments", "web", _deployment_apply(3), manager="scaler"),
        apply("deployments", "web", _deployment_apply(3), manager="scaler", force=True),
        apply("deployments", "web", _deployment_apply()),
        apply("deployments", "web", _deployment_apply(image="example.com/app:2")),
        update(
            "deployments",
            "web",
            {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 7}},
            "scale",
        ),
        apply("deployments", "web", _deployment_apply(2)),
        managed=True,
    ),
    sequence(
        "apply-custom-resource",
        apply("widgets", "a", widget("a", {"size": 3, "parts": [{"name": "x", "count": 2}, {"name": "y"}]})),
        apply("widgets", "a", widget("a", {"size": 3, "parts": [{"name": "z"}]}), manager="second"),
        apply("widgets", "a", widget("a", {"size": 3, "tags": ["t1", "t2"]}), manager="third"),
        apply("widgets", "a", widget("a", {"size": 3, "tags": ["t3"]}), manager="second"),
        apply("widgets", "a", widget("a", {"size": 3, "parts": [{"name": "x", "count": 5}]}), manager="second"),
        apply("widgets", "a", widget("a", {"size": 3, "parts": [{"name": "y"}]})),
        apply("widgets", "a", {**widget("a"), "status": {"phase": "Ready"}}, subresource="status"),
        apply("widgets", "a", widget("a", {"size": 0})),
        apply("widgets", "a", widget("a", {"size": 3, "unknown": 1})),
        managed=True,
    ),
    sequence(
        "apply-refused",
        apply("configmaps", "a", "not: [yaml"),
        apply("configmaps", "a", configmap("b")),
        apply("configmaps", "a", {"data": {"k": "v"}}),
        apply("configmaps", "a", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}),
        apply("configmaps", "a", {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}}),
        apply("configmaps", "a", configmap("a", {"k": "v"}, managedFields=[{"manager": "x"}])),
        apply("configmaps", "a", {**configmap("a"), "unknown": 1}),
        apply("configmaps", "a", configmap("a"), manager=""),
        apply("configmaps", "a", configmap("a", resourceVersion="1")),
        apply("configmaps", "c", configmap("c", uid="11111111-2222-3333-4444-555555555555")),
        apply("configmaps", "c", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  yaml: works\n"),
        apply("configmaps", "d", {**configmap("d"), "data": {"k": 1}}),
        apply("pods", "p", {**pod("p"), "spec": {"containers": [container(), container()]}}),
        apply("configmaps", "e", configmap("e"), query={"fieldValidation": "Strict"}),
        apply("configmaps", "e", {**configmap("e"), "odd": 1}, query={"fieldValidation": "Strict"}),
    ),
    sequence(
        "apply-numbers-that-do-not-fit",
        apply("services", "web", service("web", {"ports": [{"port": 80, "targetPort": 3_000_000_000}]})),
        apply("services", "web", service("web", {"ports": [{"port": 80, "targetPort": 1.5}]})),
        apply("services", "web", service("web", {"ports": [{"port": 1.5}]})),
        apply("deployments", "web", _deployment_apply(3_000_000_000)),
        apply("deployments", "web", _deployment_apply(2**32 + 2)),
    ),
    sequence(
        "managed-fields-reset",
        apply("configmaps", "a", configmap("a", {"k": "1"})),
        json_patch("configmaps", "a", [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]),
        apply("configmaps", "a", configmap("a", {"k": "2"}), manager="second"),
        get("configmaps", "a"),
        managed=True,
    ),
)
