"""Write the compact tables of Kubernetes' own kinds that ``heliostat.kube.core_schema`` reads.

Run ``python tools/generate_core_schema.py`` after an update of the package kubernetes-validate, whose definitions are
the source. Two tables come out: every built-in kind of the version that the embedded API server serves, and the
definitions that the ray.io CRDs embed, of the version that KubeRay 1.7 was built with. Left out: descriptions.
Added: what those definitions do not say (``OVERLAY``). The same input always gives the same bytes.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SERVED_VERSION = "1.34"
TEMPLATE_VERSION = "1.36"
DATA = Path(__file__).resolve().parent.parent / "src" / "heliostat" / "kube" / "data"

# What a field of the ray.io kinds may hold; everything these refer to comes with them.
TEMPLATE_ROOTS = (
    "Quantity",
    "core.v1.EnvFromSource",
    "core.v1.EnvVar",
    "core.v1.EnvVarSource",
    "core.v1.PodTemplateSpec",
    "core.v1.ResourceRequirements",
    "core.v1.SecurityContext",
    "core.v1.Service",
    "core.v1.VolumeMount",
    "meta.v1.Condition",
    "meta.v1.ObjectMeta",
    "networking.v1.IngressTLS",
    "networking.v1.NetworkPolicyEgressRule",
    "networking.v1.NetworkPolicyIngressRule",
)

DROPPED = ("description", "enum", "x-kubernetes-group-version-kind", "x-kubernetes-unions")  # enum: only its own kind
SHORT_NAMES = {"api.resource.Quantity": "Quantity", "util.intstr.IntOrString": "IntOrString"}

INT_OR_STRING = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY_PATTERN = rf"^(\+|-)?{NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{NUMBER}))?$"
QUALIFIED_NAME = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)

REPLACED: dict[str, Any] = {
    "IntOrString": INT_OR_STRING,
    "Quantity": {"anyOf": [{"type": "number"}, {"type": "string"}], "pattern": QUANTITY_PATTERN},
    "meta.v1.FieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "meta.v1.Patch": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "runtime.RawExtension": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
# In CRDs a quantity is an integer or a string, and metadata inside another object has only these fields.
REPLACED_IN_TEMPLATES: dict[str, Any] = {
    "Quantity": {**INT_OR_STRING, "pattern": QUANTITY_PATTERN},
    "EmbeddedObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    },
}

ATOMIC = {"x-kubernetes-map-type": "atomic"}
EMPTY = {"default": ""}
TCP = {"default": "TCP"}
# definition -> field ("" is the definition itself) -> keywords to add
OVERLAY: dict[str, dict[str, dict[str, Any]]] = {
    "core.v1.AzureDiskVolumeSource": {"fsType": {"default": "ext4"}, "readOnly": {"default": False}},
    "core.v1.ConfigMapEnvSource": {"name": EMPTY},
    "core.v1.ConfigMapKeySelector": {"name": EMPTY},
    "core.v1.ConfigMapProjection": {"name": EMPTY},
    "core.v1.ConfigMapVolumeSource": {"name": EMPTY},
    "core.v1.ContainerPort": {"protocol": TCP},
    "core.v1.FileKeySelector": {"optional": {"default": False}},
    "core.v1.GRPCAction": {"service": EMPTY},
    "core.v1.ISCSIVolumeSource": {"iscsiInterface": {"default": "default"}},
    "core.v1.LocalObjectReference": {"name": EMPTY},
    "core.v1.RBDVolumeSource": {
        "keyring": {"default": "/etc/ceph/keyring"},
        "pool": {"default": "rbd"},
        "user": {"default": "admin"},
    },
    "core.v1.ScaleIOVolumeSource": {"fsType": {"default": "xfs"}, "storageMode": {"default": "ThinProvisioned"}},
    "core.v1.SecretEnvSource": {"name": EMPTY},
    "core.v1.SecretKeySelector": {"name": EMPTY},
    "core.v1.SecretProjection": {"name": EMPTY},
    "core.v1.ServicePort": {"protocol": TCP},
}
# Inside a CRD these five are atomic; as objects of the API their fields have owners of their own.
OVERLAY_IN_TEMPLATES: dict[str, dict[str, dict[str, Any]]] = {
    "core.v1.ConfigMapEnvSource": {"": ATOMIC, "name": EMPTY},
    "core.v1.ConfigMapProjection": {"": ATOMIC, "name": EMPTY},
    "core.v1.ConfigMapVolumeSource": {"": ATOMIC, "name": EMPTY},
    "core.v1.SecretEnvSource": {"": ATOMIC, "name": EMPTY},
    "core.v1.SecretProjection": {"": ATOMIC, "name": EMPTY},
    "core.v1.PortStatus": {
        "": {"required": ["error", "port", "protocol"]},
        "error": {"maxLength": 316, "pattern": QUALIFIED_NAME},
    },
    "meta.v1.Condition": {
        "message": {"maxLength": 32768},
        "observedGeneration": {"minimum": 0},
        "reason": {"maxLength": 1024, "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
        "status": {"enum": ["True", "False", "Unknown"]},
        "type": {"maxLength": 316, "pattern": QUALIFIED_NAME},
    },
}

NOT_RESOURCES = ("APIGroup", "APIVersions", "Binding", "ComponentStatus", "Eviction", "Scale", "Status", "TokenRequest")
CLUSTER_SCOPED = frozenset(
    """
    APIService CSIDriver CSINode CertificateSigningRequest ClusterRole ClusterRoleBinding ClusterTrustBundle
    CustomResourceDefinition DeviceClass DeviceTaintRule FlowSchema IPAddress IngressClass MutatingAdmissionPolicy
    MutatingAdmissionPolicyBinding MutatingWebhookConfiguration Namespace Node PersistentVolume PriorityClass
    PriorityLevelConfiguration ResourceSlice RuntimeClass SelfSubjectAccessReview SelfSubjectReview
    SelfSubjectRulesReview ServiceCIDR StorageClass StorageVersion StorageVersionMigration SubjectAccessReview
    TokenReview ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
    VolumeAttachment VolumeAttributesClass
    """.split()  # noqa: SIM905  forty lines of one word each read worse
)
IRREGULAR_PLURALS = {"Endpoints": "endpoints"}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--output", type=Path, default=DATA, help="folder to write to (default: the package's data)")
    output: Path = arguments.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    for name, table in (("kinds.json", build_kinds_table()), ("templates.json", build_templates_table())):
        (output / name).write_text(table, encoding="utf-8")
        print(f"{output / name}: {len(table)} bytes")


def build_kinds_table() -> str:
    """Every built-in kind, and every definition of the served version."""
    raw = read_definitions(SERVED_VERSION)
    definitions = {name: add_overlay(name, compact(schema), OVERLAY) for name, schema in raw.items()}
    definitions.update(REPLACED)
    return write_table(SERVED_VERSION, definitions, build_kinds(raw))


def build_templates_table() -> str:
    """What the ray.io CRDs embed, the way a CRD says it."""
    raw = read_definitions(TEMPLATE_VERSION)
    overlay = OVERLAY | OVERLAY_IN_TEMPLATES
    definitions = {name: add_overlay(name, without_patches(compact(schema)), overlay) for name, schema in raw.items()}
    definitions.update(REPLACED | REPLACED_IN_TEMPLATES)
    for schema in definitions.values():
        embed_metadata(schema)
    used = closure(TEMPLATE_ROOTS, definitions)
    return write_table(TEMPLATE_VERSION, {name: definitions[name] for name in used}, [])


def read_definitions(version: str) -> dict[str, Any]:
    """The package's definitions under short names, such as ``core.v1.Pod``."""
    import kubernetes_validate  # noqa: PLC0415  the tables can be tested without it

    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / f"v{version}.0-local"
    raw = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    short = {short_name(name): schema for name, schema in raw.items()}
    assert len(short) == len(raw), "two definitions have the same short name"
    return short


def short_name(name: str) -> str:
    """The last parts of ``io.k8s.api.core.v1.Pod`` that tell definitions apart."""
    *_, group, version, kind = name.split(".")
    text = f"{group}.{version}.{kind}"
    return SHORT_NAMES.get(text, text.removeprefix("pkg."))


def compact(schema: Any) -> Any:
    """The schema without prose, with plain types (every field tolerates null as absence) and short references."""
    if isinstance(schema, list):
        return [compact(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            result[keyword] = {name: compact(child) for name, child in value.items()}
        elif keyword == "type" and isinstance(value, list):
            result[keyword] = value[0]
        elif keyword == "$ref":
            result[keyword] = short_name(value.rpartition("/")[2])
        elif keyword == "required":
            result[keyword] = sorted(value)
        elif keyword not in DROPPED:
            result[keyword] = compact(value)
    return result


def without_patches(schema: dict[str, Any]) -> dict[str, Any]:
    """CRDs know no strategic merge patch."""
    for field in schema.get("properties", {}).values():
        for keyword in [keyword for keyword in field if keyword.startswith("x-kubernetes-patch-")]:
            del field[keyword]
    return schema


def add_overlay(name: str, schema: dict[str, Any], overlay: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    for field, keywords in overlay.get(name, {}).items():
        (schema["properties"][field] if field else schema).update(keywords)
    return schema


def embed_metadata(schema: dict[str, Any]) -> None:
    for field in schema.get("properties", {}).values():
        if field.get("$ref") == "meta.v1.ObjectMeta":
            field["$ref"] = "EmbeddedObjectMeta"


def closure(roots: Iterable[str], definitions: dict[str, Any]) -> list[str]:
    """The roots and everything they refer to."""
    found: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += references(definitions[name])
    return sorted(found)


def references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for part in schema for name in references(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if "$ref" in schema else []
    return own + [name for part in schema.values() for name in references(part)]


def build_kinds(raw: dict[str, Any]) -> list[Any]:
    """One row (apiVersion, kind, definition, plural, is namespaced) per kind that the API serves as a resource."""
    rows = []
    for name, schema in raw.items():
        versions = schema.get("x-kubernetes-group-version-kind", [])
        kind = name.rpartition(".")[2]
        if len(versions) != 1 or kind.endswith("List") or kind in NOT_RESOURCES:
            continue
        api_version = f"{versions[0]['group']}/{versions[0]['version']}".lstrip("/")
        rows.append([api_version, kind, name, plural(kind), kind not in CLUSTER_SCOPED])
    return sorted(rows)


def plural(kind: str) -> str:
    word = kind.lower()
    if kind in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[kind]
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith("s") else "s")


def write_table(version: str, definitions: dict[str, Any], kinds: list[Any]) -> str:
    """JSON with one line per kind and definition: small, and a change shows as one line."""
    rows = ",\n".join(to_json(row) for row in kinds)
    lines = ",\n".join(f"{to_json(name)}:{to_json(definitions[name])}" for name in sorted(definitions))
    return f'{{"version":{to_json(version)},\n"kinds":[\n{rows}\n],\n"definitions":{{\n{lines}\n}}}}\n'


def to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=True)


if __name__ == "__main__":
    main()
