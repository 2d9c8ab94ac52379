"""What of a Gateway or an HTTPRoute differs from how it should be: what a server fills in does not count (§6.2)."""

from typing import Any

from heliostat.api.markers import JsonObject
from heliostat.kube.lookups import GATEWAY, KindName


def find_drift(found: JsonObject, wanted: JsonObject, kind: KindName) -> JsonObject:
    """Only what differs is sent: a patch replaces lists as a whole."""
    keys = ("gatewayClassName", "listeners") if kind == GATEWAY else ("hostnames", "parentRefs", "rules")
    return {key: wanted.get(key) for key in keys if _differs(key, found.get(key), wanted.get(key))}


def _differs(key: str, found: Any, wanted: Any) -> bool:
    return bool(_MEANING[key](found) != _MEANING[key](wanted))


def _rules(rules: Any) -> Any:
    return [
        (rule.get("matches") or [], rule.get("filters") or [], list(map(_back_end, rule.get("backendRefs") or ())))
        for rule in rules or ()
    ]


def _back_end(ref: JsonObject) -> Any:
    return ref.get("name"), ref.get("namespace"), ref.get("port") or 0, weight_of(ref)


def weight_of(ref: JsonObject) -> int:
    weight = ref.get("weight")
    return 1 if weight is None else int(weight)


# What counts of a field.
_MEANING: dict[str, Any] = {
    "gatewayClassName": lambda value: value,
    "listeners": lambda value: [(each.get("name"), each.get("protocol"), each.get("port")) for each in value or ()],
    "hostnames": lambda value: value or [],
    "parentRefs": lambda value: [(each.get("name"), each.get("namespace")) for each in value or ()],
    "rules": _rules,
}
