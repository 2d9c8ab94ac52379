"""PersistentVolumeClaims: what they may ask for, and what of it may change once they are there."""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import changed, each_invalid, forbidden, invalid, not_supported, required
from heliostat.embedded.kinds.rules.label_rules import selector_causes
from heliostat.embedded.kinds.rules.name_rules import dns1123_subdomain_problems
from heliostat.embedded.kinds.rules.resource_rules import amount_causes, read_quantity
from heliostat.embedded.kinds.workloads.spec_difference import describe_difference
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject, copy_tree

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ALONE = "ReadWriteOncePod"
_CLAIM = "PersistentVolumeClaim"
_IMMUTABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def new_claim_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from claim_spec_causes(tree.get("spec") or {}, "spec")


def claim_spec_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    modes = spec.get("accessModes") or []
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from selector_causes(spec.get("selector"), f"{path}.selector")
    for mode in modes:
        if mode not in _MODES:
            yield not_supported(f"{path}.accessModes", mode, _MODES)
    if _ALONE in modes and any(mode != _ALONE and mode in _MODES for mode in modes):
        yield forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    yield from _storage_causes(spec, f"{path}.resources[storage]")
    for name in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(name):
            yield from each_invalid(f"{path}.{name}", spec[name], dns1123_subdomain_problems(spec[name]))
    if spec.get("volumeMode", "Filesystem") not in ("Block", "Filesystem"):
        yield not_supported(f"{path}.volumeMode", spec["volumeMode"], ("Block", "Filesystem"))
    for name in ("dataSource", "dataSourceRef"):
        if name in spec:
            yield from _source_causes(spec[name], f"{path}.{name}")


def _storage_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        yield required(path)
    elif read_quantity(storage).nano <= 0:
        yield invalid(path, storage, "must be greater than zero")
    else:
        yield from amount_causes("storage", storage, path)


def _source_causes(source: JsonObject, path: str) -> Iterator[Cause]:
    for name in ("name", "kind"):
        if not source.get(name):
            yield required(f"{path}.{name}")
    group = source.get("apiGroup") or ""
    if not group and source.get("kind") != _CLAIM:
        why = f"must be '{_CLAIM}' when referencing the default apiGroup"
        yield invalid(path, source.get("kind", ""), why)
    if group:
        yield from each_invalid(f"{path}.apiGroup", group, dns1123_subdomain_problems(group))


def changed_claim_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from new_claim_causes(tree)  # which kube-apiserver does twice, and tells twice
    yield from new_claim_causes(tree)
    spec, before = tree.get("spec") or {}, old.get("spec") or {}
    allowed, kept = copy_tree(spec), copy_tree(before)
    if not kept.get("volumeName"):
        kept["volumeName"] = allowed.get("volumeName", "")
        allowed.setdefault("volumeName", "")
    if "storageClassName" not in kept and "storageClassName" in allowed:
        kept["storageClassName"] = allowed["storageClassName"]
    if (tree.get("status") or {}).get("phase") == "Bound":
        _allow_growth(allowed, kept)
    if allowed != kept:
        yield forbidden("spec", f"{_IMMUTABLE}\n{describe_difference(kept, allowed)}")
    wanted, had, got = (
        _storage_of(part) for part in (spec, before, {"requests": (old.get("status") or {}).get("capacity")})
    )
    if wanted < had and wanted <= got:
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    yield from changed("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))


def _allow_growth(allowed: JsonObject, kept: JsonObject) -> None:
    requests, before = (part.get("resources", {}).get("requests", {}) for part in (allowed, kept))
    if requests and "storage" in before:
        requests["storage"] = before["storage"]
    for part in (allowed, kept):
        part.pop("volumeAttributesClassName", None)


def _storage_of(part: JsonObject) -> int:
    resources = part.get("resources") or part
    return read_quantity((resources.get("requests") or {}).get("storage", "0")).nano
