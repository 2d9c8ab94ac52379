"""``spec.serveConfigV2``, a YAML text inside a RayService: read, and looked at for what Serve cannot be asked for."""

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeGuard

from heliostat.api.markers import JsonObject
from heliostat.kube.document_error import DocumentError
from heliostat.kube.yaml_value import read_yaml_value

UNNAMED = "default"  # Ray's name for an application without one


class ServeConfigError(ValueError):
    """Says what is wrong, without the field's name."""


@lru_cache(maxsize=256)
def read_config(text: str) -> JsonObject:
    """An empty text asks for no application. Each look at a service reads it again: nobody may change the answer."""
    try:
        value = read_yaml_value(text, "serveConfigV2")
    except DocumentError as error:
        raise ServeConfigError(f" cannot be read: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ServeConfigError(f" has to be a map with a list of applications; it is {value!r:.60}")
    trouble = next(_find_trouble(value.get("applications")), None)
    if trouble is not None:
        raise ServeConfigError(f": {trouble}")
    return value


def name_of(application: JsonObject) -> str:
    return str(application.get("name") or UNNAMED)


def _find_trouble(applications: object) -> Iterator[str]:
    """What would be mistaken for another application, cannot be told apart, or has another shape than Serve takes."""
    if applications is None:
        return
    if not _are_maps(applications):
        yield "applications has to be a list of maps"
        return
    for each in applications:
        yield from _find_misfit(each)
    for field, shown in (("name", name_of), ("route_prefix", lambda each: each.get("route_prefix", "/"))):
        seen: set[str] = set()
        for each in applications:
            value = shown(each)
            if value is not None and value in seen:
                yield f"two applications have the {field} {value}; give each its own"
            seen.add(value)


def _find_misfit(application: JsonObject) -> Iterator[str]:
    """What is compared with Serve's report has to have the shape of the report."""
    for field in ("name", "route_prefix"):
        if isinstance(application.get(field), list | dict):
            yield f"the {field} of an application has to be a text; it is {application[field]!r:.60}"
    deployments = application.get("deployments") or []
    if not _are_maps(deployments):
        yield f"the deployments of {name_of(application)} have to be a list of maps"
    elif any(isinstance(each.get("name"), list | dict) for each in deployments):
        yield f"the name of a deployment of {name_of(application)} has to be a text"


def _are_maps(value: object) -> TypeGuard[list[JsonObject]]:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)
