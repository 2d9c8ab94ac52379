"""Fields that an endpoint does not write, whatever a request says, and that nobody comes to own through it.

Rules: an object's own endpoint leaves ``status`` alone if the kind has it as a subresource, ``/status`` leaves ``spec``
alone; the tables have what is special. Two subresources of Pod write only a few fields.
"""

from collections.abc import Callable
from typing import TypeAlias

from heliostat.embedded.server.patches.apply.elements import Element, ElementPath, field_path
from heliostat.embedded.server.patches.apply.field_set import FieldSet, build_field_set

FieldFilter: TypeAlias = Callable[[FieldSet], FieldSet]

_ANY: Element = "*"
_METADATA = (("metadata",), ("spec",))

# By kind and subresource; where there is no row, see the rules.
_LEFT_ALONE: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("CertificateSigningRequest", ""): (("spec",), ("status",)),
    ("CertificateSigningRequest", "status"): (("spec",), ("status", "conditions")),
    ("CertificateSigningRequest", "approval"): (("spec",), ("status", "certificate")),
    ("CustomResourceDefinition", "status"): _METADATA,
    ("Deployment", "status"): (("spec",), ("metadata", "labels")),
    ("FlowSchema", "status"): _METADATA,
    ("Namespace", "finalize"): (("status",),),
    ("Pod", "status"): (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    ("PriorityLevelConfiguration", "status"): _METADATA,
    ("StorageVersion", "status"): _METADATA,
    ("StorageVersionMigration", "status"): _METADATA,
    ("ValidatingAdmissionPolicy", "status"): _METADATA,
    ("VolumeAttachment", "status"): _METADATA,
}
_RULES: dict[str, tuple[tuple[str, ...], ...]] = {"": (("status",),), "status": (("spec",),)}
_WRITTEN: dict[tuple[str, str], tuple[ElementPath, ...]] = {
    ("Pod", "ephemeralcontainers"): (field_path("spec", "ephemeralContainers"),),
    ("Pod", "resize"): tuple(
        (*field_path("spec", containers), _ANY, *field_path(field))
        for containers in ("containers", "initContainers")
        for field in ("resources", "resizePolicy")
    ),
}


def writable_fields(kind: str, subresource: str, *, is_custom: bool = False, has_status: bool = True) -> FieldFilter:
    """Takes out of a set what a request to this endpoint cannot write."""
    if not is_custom and (kind, subresource) in _WRITTEN:
        return lambda fields: _only(fields, _WRITTEN[kind, subresource])
    rule = _RULES.get(subresource, ()) if has_status else ()
    left_alone = rule if is_custom else _LEFT_ALONE.get((kind, subresource), rule)
    excluded = build_field_set(field_path(*names) for names in left_alone)
    return lambda fields: fields.without(excluded)


def _only(fields: FieldSet, prefixes: tuple[ElementPath, ...]) -> FieldSet:
    """The part of a set that lies on the way to, or under, one of the prefixes."""
    if not all(prefixes):
        return fields
    members = frozenset(element for element in fields.members if _after(element, prefixes))
    inner = {e: _only(child, _after(e, prefixes)) for e, child in fields.children.items() if _after(e, prefixes)}
    return FieldSet(members, {element: child for element, child in inner.items() if child})


def _after(element: Element, prefixes: tuple[ElementPath, ...]) -> tuple[ElementPath, ...]:
    return tuple(prefix[1:] for prefix in prefixes if prefix[0] in (_ANY, element))
