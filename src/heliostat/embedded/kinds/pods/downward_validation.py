"""References from a container or a volume to facts about the Pod itself (the downward API)."""

from collections.abc import Iterator, Set

from heliostat.embedded.kinds.rules.causes import each_invalid, invalid, not_supported, required
from heliostat.embedded.kinds.rules.name_rules import label_key_problems
from heliostat.embedded.kinds.rules.resource_rules import read_quantity
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_SUBSCRIPTED = ("metadata.annotations", "metadata.labels")
_KNOWN = frozenset(
    {*_SUBSCRIPTED, "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.restartPolicy",
     "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs",
     "status.podIP", "status.podIPs"}
)  # fmt: skip
_AMOUNTS = sorted(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_BYTES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_DIVISORS = {"cpu": ("1m and 1", "cpu"), "memory": (_BYTES, "memory"),
             "ephemeral-storage": (_BYTES, "local ephemeral storage")}  # fmt: skip
_HUGE_PAGES = (_BYTES, "hugepages")


def is_plain_reference(reference: JsonObject, supported: Set[str]) -> bool:
    return reference.get("apiVersion") == "v1" and reference.get("fieldPath") in supported


def field_reference_causes(reference: JsonObject, supported: Set[str], path: str) -> Iterator[Cause]:
    if not reference.get("apiVersion"):
        yield required(f"{path}.apiVersion")
        return
    field = reference.get("fieldPath", "")
    if not field:
        yield required(f"{path}.fieldPath")
        return
    base, bracket, rest = field.partition("['")
    subscript = rest.removesuffix("']") if bracket and rest.endswith("']") else None
    if reference["apiVersion"] != "v1" or base not in _KNOWN:
        why = (
            f"field label not supported: {field}"
            if reference["apiVersion"] == "v1"
            else (f"unsupported pod version: {reference['apiVersion']}")
        )
        yield invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {why}")
    elif subscript is not None:
        if base not in _SUBSCRIPTED:
            yield invalid(
                f"{path}.fieldPath", field, "error converting fieldPath: field label does not support subscript"
            )
        else:
            key = subscript.lower() if base == "metadata.annotations" else subscript
            yield from each_invalid(path, key, label_key_problems(key))
    elif field not in supported:
        yield not_supported(f"{path}.fieldPath", field, sorted(supported))


def resource_reference_causes(reference: JsonObject, path: str, *, in_volume: bool = False) -> Iterator[Cause]:
    resource = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in _AMOUNTS and not resource.startswith(("limits.hugepages-", "requests.hugepages-")):
        yield not_supported(f"{path}.resource", resource, _AMOUNTS)
    divisor = reference.get("divisor")
    if divisor is not None and not read_quantity(divisor).is_zero:
        offered, what = _DIVISORS.get(resource.partition(".")[2], _HUGE_PAGES)
        if divisor not in offered.replace(" and ", ", ").split(", "):
            why = f"only divisor's values {offered} are supported with the {what} resource"
            yield invalid(f"{path}.divisor", resource, why)
