"""CustomResourceDefinitions, and objects of the kinds they define."""

from conformance.model import YAML, Call, Json, sequence
from conformance.objects import widget
from conformance.requests import create, delete, delete_all, get, json_patch, listing, merge, strategic, update


def _crd(
    name: str, schema: Json = None, /, *, group: str = "${seq}.example", scope: str = "Namespaced", **version: Json
) -> Json:
    plural, kind = f"{name}s", name.capitalize()
    served: Json = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        **version,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind}, "versions": [served]},
    }


def _schema(**properties: Json) -> Json:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def _crds(body: Json) -> Call:
    return create("customresourcedefinitions", body)


BETA = "/apis/conformance.dev/v1beta1/namespaces/${ns}/widgets"

SEQUENCES = (
    sequence(
        "custom-life",
        create("widgets", widget("a", {"size": 3, "parts": [{"name": "x"}], "unknown": 1}, labels={"x": "y"})),
        get("widgets", "a"),
        update("widgets", "a", widget("a", {"size": 4})),
        update("widgets", "a", widget("a", {"size": 4}, resourceVersion="${a.rv}")),
        update("widgets", "a", widget("a", {"size": 4}, resourceVersion="${a.rv}")),
        update("widgets", "a", widget("a", {"size": 5}, resourceVersion="${a.rv.first}")),
        merge("widgets", "a", {"spec": {"size": 6}}),
        merge("widgets", "a", {"metadata": {"labels": {"new": "label"}}}),
        merge("widgets", "a", {"status": {"phase": "Ready"}}),
        merge("widgets", "a", {"status": {"phase": "Ready"}}, "status"),
        merge("widgets", "a", {"spec": {"size": 50}}, "status"),
        get("widgets", "a", "status"),
        listing("widgets"),
        delete("widgets", "a"),
        get("widgets", "a"),
    ),
    sequence(
        "custom-validation",
        create("widgets", widget("a", {})),
        create("widgets", {"apiVersion": "conformance.dev/v1", "kind": "Widget", "metadata": {"name": "a"}}),
        create("widgets", widget("a", {"size": 0})),
        create("widgets", widget("a", {"size": 101})),
        create("widgets", widget("a", {"size": "3"})),
        create("widgets", widget("a", {"size": 3.5})),
        create("widgets", widget("a", {"size": 3, "mode": "Odd"})),
        create("widgets", widget("a", {"size": 3, "title": "x"})),
        create("widgets", widget("a", {"size": 3, "title": "waytoolongtitle"})),
        create("widgets", widget("a", {"size": 3, "title": "Upper"})),
        create("widgets", widget("a", {"size": 3, "ratio": 0})),
        create("widgets", widget("a", {"size": 3, "ratio": 0.7})),
        create("widgets", widget("a", {"size": 3, "port": 1.5})),
        create("widgets", widget("a", {"size": 3, "labels": {"a": "1", "b": "2", "c": "3", "d": "4"}})),
        create("widgets", widget("a", {"size": 3, "labels": {"a": 1}})),
        create("widgets", widget("a", {"size": 3, "tags": ["x", "x"]})),
        create("widgets", widget("a", {"size": 3, "tags": ["a", "b", "c", "d"]})),
        create("widgets", widget("a", {"size": 3, "parts": [{"name": "x"}, {"name": "x"}]})),
        create("widgets", widget("a", {"size": 3, "parts": [{}]})),
        create("widgets", widget("a", {"size": 3, "replicas": None, "enabled": None, "mode": None})),
        create("widgets", widget("b", {"size": 0, "mode": "Odd", "title": "X", "parts": [{"count": "x"}]})),
        create("widgets", widget("b", "text")),
        create("widgets", widget("b", [1])),
        create("widgets", widget("c", {"size": 3, "title": "forbidden"})),
        create("widgets", widget("c", {"size": 3, "replicas": 5})),
        create("widgets", widget("c", {"size": 5, "replicas": 5})),
        merge("widgets", "c", {"spec": {"size": 4}}),
        merge("widgets", "c", {"spec": {"size": 5}}),
        merge("widgets", "c", {"spec": None}),
        strategic("widgets", "c", {"spec": {"size": 6}}),
        json_patch("widgets", "c", [{"op": "replace", "path": "/spec/size", "value": 7}]),
    ),
    sequence(
        "custom-field-validation",
        create("widgets", widget("a", {"size": 3, "unknown": 1}), query={"fieldValidation": "Strict"}),
        create("widgets", widget("a", {"size": 3, "unknown": 1, "other": {"x": 1}}), query={"fieldValidation": "Warn"}),
        create("widgets", widget("b", {"size": 3, "unknown": 1}), query={"fieldValidation": "Ignore"}),
        create(
            "widgets", widget("c", {"size": 3, "parts": [{"name": "x", "odd": 1}]}), query={"fieldValidation": "Strict"}
        ),
        create("widgets", {**widget("c"), "top": 1}, query={"fieldValidation": "Strict"}),
        create(
            "widgets",
            widget("c", {"size": 3, "free": {"anything": [1, {"goes": None}]}}),
            query={"fieldValidation": "Strict"},
        ),
        create("widgets", widget("d", oddMeta=1), query={"fieldValidation": "Strict"}),
        create(
            "widgets",
            '{"apiVersion":"conformance.dev/v1","kind":"Widget","metadata":{"name":"dup"},"spec":{"size":3,"size":4}}',
        ),
        create(
            "widgets",
            '{"apiVersion":"conformance.dev/v1","kind":"Widget","metadata":{"name":"dup2"},"spec":{"size":3,"size":4}}',
            query={"fieldValidation": "Strict"},
        ),
        create(
            "widgets",
            "apiVersion: conformance.dev/v1\nkind: Widget\nmetadata: {name: y}\nspec: {size: 3}\n",
            headers={"Content-Type": YAML},
        ),
        get("widgets", "y"),
    ),
    sequence(
        "custom-scale",
        create("widgets", widget("a", {"size": 9, "replicas": 2})),
        get("widgets", "a", "scale"),
        merge("widgets", "a", {"status": {"replicas": 2, "selector": "app=a"}}, "status"),
        get("widgets", "a", "scale"),
        merge("widgets", "a", {"spec": {"replicas": 4}}, "scale"),
        merge("widgets", "a", {"spec": {"replicas": -4}}, "scale"),
        update(
            "widgets",
            "a",
            {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": "a", "namespace": "${ns}"},
                "spec": {"replicas": 3},
            },
            "scale",
        ),
        get("widgets", "a"),
        Call(method="GET", path=f"{BETA}/a/scale"),
    ),
    sequence(
        "custom-two-versions",
        create("widgets", widget("a")),
        Call(method="GET", path=f"{BETA}/a"),
        Call(method="GET", path=BETA),
        Call(method="POST", path=BETA, body=widget("b")),
        Call(method="POST", path=BETA, body={**widget("b"), "apiVersion": "conformance.dev/v1beta1"}),
        get("widgets", "b"),
        Call(
            method="PATCH",
            path=f"{BETA}/b",
            body={"spec": {"size": 9}},
            headers={"Content-Type": "application/merge-patch+json"},
        ),
        Call(method="GET", path="/apis/conformance.dev/v2/namespaces/${ns}/widgets"),
        Call(method="DELETE", path=f"{BETA}/b"),
        delete_all("widgets"),
    ),
    sequence(
        "custom-cluster-wide",
        create(
            "gadgets",
            {
                "apiVersion": "conformance.dev/v1",
                "kind": "Gadget",
                "metadata": {"name": "${seq}"},
                "anything": {"a": [1]},
            },
        ),
        get("gadgets", "${seq}"),
        merge("gadgets", "${seq}", {"anything": {"b": 2}}),
        merge("gadgets", "${seq}", {"status": {"x": 1}}, "status"),
        create(
            "gadgets",
            {"apiVersion": "conformance.dev/v1", "kind": "Gadget", "metadata": {"name": "x", "namespace": "y"}},
        ),
        Call(method="GET", path="/apis/conformance.dev/v1/namespaces/${ns}/gadgets/x"),
        delete("gadgets", "${seq}"),
    ),
    sequence(
        "crd-life",
        _crds(_crd("lamp", _schema(bright={"type": "integer"}))),
        Call(method="GET", path="/apis/${seq}.example/v1/namespaces/${ns}/lamps", until=200),
        get("customresourcedefinitions", "lamps.${seq}.example"),
        Call(
            method="POST",
            path="/apis/${seq}.example/v1/namespaces/${ns}/lamps",
            body={
                "apiVersion": "${seq}.example/v1",
                "kind": "Lamp",
                "metadata": {"name": "a"},
                "spec": {"bright": 1, "x": 2},
            },
        ),
        _crds(_crd("lamp")),
        merge("customresourcedefinitions", "lamps.${seq}.example", {"spec": {"scope": "Cluster"}}),
        merge("customresourcedefinitions", "lamps.${seq}.example", {"metadata": {"labels": {"a": "b"}}}),
        merge("customresourcedefinitions", "lamps.${seq}.example", {"spec": {"names": {"shortNames": ["lp"]}}}),
        Call(method="GET", path="/apis/${seq}.example/v1", until=200),
    ),
    sequence(
        "crd-refused",
        _crds({**_crd("lamp"), "metadata": {"name": "wrong.name"}}),
        _crds(_crd("lamp", {"type": "string"})),
        _crds(_crd("lamp", _schema(a={}))),
        _crds(_crd("lamp", _schema(a={"type": "odd"}))),
        _crds(_crd("lamp", _schema(a={"type": "string", "default": 5}))),
        _crds(_crd("lamp", _schema(a={"type": "array"}))),
        _crds(_crd("lamp", _schema(a={"type": "string", "pattern": "("}))),
        _crds(_crd("lamp", _schema(a={"type": "string", "x-kubernetes-validations": [{"rule": "self +"}]}))),
        _crds(_crd("lamp", _schema(a={"type": "string", "x-kubernetes-validations": [{"rule": "self.size() > 'x'"}]}))),
        _crds(
            _crd(
                "lamp",
                _schema(
                    a={
                        "type": "object",
                        "additionalProperties": {"type": "string"},
                        "properties": {"b": {"type": "string"}},
                    }
                ),
            )
        ),
        _crds(_crd("lamp", storage=False)),
        _crds(_crd("lamp", schema=None)),
        _crds(_crd("lamp", name="Bad_Version")),
        _crds(_crd("lamp", scope="Odd")),
        _crds(_crd("lamp", group="nodots")),
        _crds(_crd("lamp", subresources={"scale": {"specReplicasPath": "spec.replicas"}})),
        _crds(_crd("lamp", additionalPrinterColumns=[{"name": "x", "type": "odd", "jsonPath": "x"}])),
        _crds(
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a.b"}}
        ),
        _crds(_crd("lamp", group="lamps.k8s.io")),
    ),
)
