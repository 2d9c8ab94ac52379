"""What Serve is asked to run: ``spec.serveConfigV2``, a YAML text, as the value that Ray takes (rayservice.md §8)."""

import hashlib
from collections.abc import Iterator

from heliostat.api.markers import JsonObject
from heliostat.api.rayservice import RayService
from heliostat.desired.slots import Impossible
from heliostat.kube.document_error import DocumentError
from heliostat.kube.jsontree import encode_json
from heliostat.kube.yaml_value import read_yaml_value

UNNAMED = "default"  # Ray's name for an application without one
_FIELD = "spec.serveConfigV2"


def read_serve_config(service: RayService) -> JsonObject | Impossible:
    """An empty text asks for no application."""
    try:
        value = read_yaml_value(service.spec.serve_config_v2 or "", "serveConfigV2")
    except DocumentError as error:
        return Impossible(f"{_FIELD} cannot be read: {error}")
    if value is None:
        return {}
    if not isinstance(value, dict):
        return Impossible(f"{_FIELD} has to be a map with a list of applications; it is {value!r:.60}")
    trouble = next(_find_trouble(value.get("applications")), None)
    return value if trouble is None else Impossible(f"{_FIELD}: {trouble}")


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


def name_of(application: JsonObject) -> str:
    return str(application.get("name") or UNNAMED)


def list_applications(config: JsonObject) -> dict[str, JsonObject]:
    return {name_of(each): each for each in config.get("applications") or []}


def digest_config(config: JsonObject) -> str:
    return hashlib.sha256(encode_json(config)).hexdigest()[:16]
