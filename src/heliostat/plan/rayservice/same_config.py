"""Is what Serve reports of an application what was asked for?

Serve reports what it was sent and nothing that was left out, inside options too. So a field that was asked for must be
reported as it is, and one that is reported beyond was taken away since. Where Serve says the same in other words, the
configuration is sent once, and what was sent is remembered.
"""

from typing import Any

from heliostat.api.markers import JsonObject

_APART = frozenset({"name", "deployments", "host", "port"})  # the last two do nothing in an application
_DEFAULTS: JsonObject = {"route_prefix": "/", "external_scaler_enabled": False}
_OPTIONS = frozenset({"autoscaling_config", "ray_actor_options", "logging_config", "gang_scheduling_config"})


def is_same_application(wanted: JsonObject, reported: JsonObject | None) -> bool:
    """Of two with one name."""
    if reported is None:
        return False
    if not _are_same_deployments(wanted.get("deployments") or [], reported.get("deployments") or []):
        return False
    return _are_same_fields(_with_defaults(wanted), _with_defaults(reported))


def _with_defaults(application: JsonObject) -> JsonObject:
    return _DEFAULTS | {key: value for key, value in application.items() if key not in _APART}


def _are_same_deployments(wanted: Any, reported: Any) -> bool:
    by_name = {each.get("name"): each for each in reported}
    if {each.get("name") for each in wanted} != by_name.keys():
        return False
    return all(_are_same_fields(each, by_name[each.get("name")]) for each in wanted)


def _are_same_fields(wanted: JsonObject, reported: JsonObject) -> bool:
    return all(_is_same(key, wanted.get(key), reported.get(key)) for key in wanted.keys() | reported.keys())


def _is_same(key: str, wanted: Any, reported: Any) -> bool:
    if wanted == reported or (_is_empty(wanted) and _is_empty(reported)):
        return True
    is_option = key in _OPTIONS and isinstance(wanted, dict) and isinstance(reported, dict)
    return is_option and _are_same_fields(wanted, reported)


def _is_empty(value: Any) -> bool:
    """Nothing is said; 0 and False are said."""
    return value is None or value in ("", [], {})
