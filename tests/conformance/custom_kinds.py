"""The custom kinds that every target serves before a sequence starts: one with everything, one without a schema."""

from conformance.model import Json

GROUP = "conformance.dev"


def _property(kind: str, **rules: Json) -> Json:
    return {"type": kind, **rules}


_SPEC: Json = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": _property("integer", minimum=1, maximum=100),
        "replicas": _property("integer", format="int32", default=1, minimum=0),
        "mode": _property("string", enum=["Fast", "Safe"], default="Safe"),
        "title": _property("string", minLength=2, maxLength=12, pattern="^[a-z]+$"),
        "ratio": _property("number", minimum=0, exclusiveMinimum=True, multipleOf=0.5),
        "enabled": _property("boolean", nullable=True, default=True),
        "port": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "x-kubernetes-list-type": "set"},
        "parts": {
            "type": "array",
            "maxItems": 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": _property("string", maxLength=20),
                    "count": _property("integer", default=1),
                    "kind": _property("string", default="plain"),
                },
            },
        },
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.title) || self.title != 'forbidden'", "message": "this title is taken"},
        {"rule": "self.size >= oldSelf.size", "message": "size may only grow"},
        {
            "rule": "self.replicas <= self.size",
            "messageExpression": "self.replicas > 50 ? 'far too many replicas' : 'too many replicas'",
        },
    ],
}
_STATUS: Json = {
    "type": "object",
    "properties": {
        "replicas": _property("integer", format="int32"),
        "selector": _property("string"),
        "phase": _property("string"),
        "note": _property("string", default="none"),
    },
}
_SCHEMA: Json = {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}, "required": ["spec"]}

# Not quite the same, or the server would keep one schema for both and refuse fields that only one version selects by.
_BETA_SCHEMA: Json = {**_SCHEMA, "description": "An earlier version."}

_SCALE: Json = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}

WIDGETS: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {
            "plural": "widgets",
            "singular": "widget",
            "kind": "Widget",
            "shortNames": ["wd"],
            "categories": ["all"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {"status": {}, "scale": _SCALE},
                "selectableFields": [{"jsonPath": ".spec.mode"}],
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "priority": 1},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
            },
            {
                "name": "v1beta1",
                "served": True,
                "storage": False,
                "schema": {"openAPIV3Schema": _BETA_SCHEMA},
                "subresources": {"status": {}},
            },
        ],
    },
}

GADGETS: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Cluster",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}

INSTALLED = (WIDGETS, GADGETS)
COLLECTIONS = (f"/apis/{GROUP}/v1/widgets", f"/apis/{GROUP}/v1beta1/widgets", f"/apis/{GROUP}/v1/gadgets")
