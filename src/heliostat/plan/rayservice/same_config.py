"""Is what Serve reports of an application what was asked for?

Serve reports what it was sent and nothing that was left out, inside options too. So a field that was asked for must be
reported as it is, and one that is reported beyond was taken away since. Where Serve says the same in other words, the
configuration is sent once, and what was sent is remembered.
"""

from typing import Any

from heliostat.api.markers import JsonObject

_FILLED_IN = frozenset({"name", "route_prefix", "external_scaler_enabled", "host", "port"})
_OPTIONS = frozenset({"autoscaling_config", "ray_actor_options", "logging_config", "gang_scheduling_config"})


def is_same_application(wanted: JsonObject, reported: JsonObject | None) -> bool:
    if reported is None:
        return False
    if _has_beyond(wanted, reported, _FILLED_IN):
        return False
    if not _are_same_deployments(wanted.get("deployments") or [], reported.get("deployments") or []):
        return False
    return all(_is_same(key, value, reported.get(key)) for key, value in wanted.items() if key != "deployments")


def _are_same_deployments(wanted: Any, reported: Any) -> bool:
    by_name = {each.get("name"): each for each in reported}
    if {each.get("name") for each in wanted} != by_name.keys():
        return False
    for each in wanted:
        told = by_name[each.get("name")]
        if _has_beyond(each, told, frozenset()):
            return False
        if not all(_is_same(key, value, told.get(key)) for key, value in each.items()):
            return False
    return True


def _has_beyond(wanted: JsonObject, reported: JsonObject, filled_in: frozenset[str]) -> bool:
    """Whether a field is reported that nobody asks for."""
    return any(key not in wanted and key not in filled_in and not _is_empty(value) for key, value in reported.items())


def _is_same(key: str, wanted: Any, reported: Any) -> bool:
    if wanted == reported or (_is_empty(wanted) and _is_empty(reported)):
        return True
    if key in _OPTIONS and isinstance(wanted, dict) and isinstance(reported, dict):
        return not _has_beyond(wanted, reported, frozenset()) and all(
            _is_same(inner, value, reported.get(inner)) for inner, value in wanted.items()
        )
    return key in ("name", "route_prefix") and not wanted


def _is_empty(value: Any) -> bool:
    """Nothing is said; 0 and False are said."""
    return value is None or value in ("", [], {})
