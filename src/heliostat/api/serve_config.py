"""``spec.serveConfigV2``, a YAML text inside a RayService: read, and looked at for what Serve cannot be asked for."""

from collections.abc import Iterator
from functools import lru_cache

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
    """What would be mistaken for another application, or cannot be told apart."""
    if applications is None:
        return
    if not isinstance(applications, list) or not all(isinstance(each, dict) for each in applications):
        yield "applications has to be a list of maps"
        return
    for field, shown in (("name", name_of), ("route_prefix", lambda each: each.get("route_prefix", "/"))):
        seen: set[str] = set()
        for each in applications:
            value = shown(each)
            if value is not None and value in seen:
                yield f"two applications have the {field} {value}; give each its own"
            seen.add(value)
