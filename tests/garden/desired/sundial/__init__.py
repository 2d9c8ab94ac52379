"""A Sundial wants a Service in front of it."""

from msgspec import Struct

from heliostat.api.raycluster import ObjectMeta
from heliostat.kube.jsontree import JsonObject


class SundialSpec(Struct, frozen=True):
    port: int


class Sundial(Struct, rename="camel", frozen=True, kw_only=True):
    api_version: str
    kind: str
    metadata: ObjectMeta
    spec: SundialSpec


def build_gate(sundial: Sundial) -> JsonObject:
    metadata = sundial.metadata
    owner = {"apiVersion": sundial.api_version, "kind": "Sundial", "name": metadata.name, "uid": metadata.uid}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": f"{metadata.name}-gate",
            "namespace": metadata.namespace,
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {"ports": [{"port": sundial.spec.port}]},
    }
