"""What Serve is asked to run: ``spec.serveConfigV2`` as the value that Ray takes (rayservice.md §8)."""

import hashlib

from heliostat.api.markers import JsonObject
from heliostat.api.rayservice import RayService
from heliostat.api.serve_config import ServeConfigError, name_of, read_config
from heliostat.desired.slots import Impossible
from heliostat.kube.jsontree import encode_json

_FIELD = "spec.serveConfigV2"


def read_serve_config(service: RayService) -> JsonObject | Impossible:
    """An empty text asks for no application."""
    try:
        return read_config(service.spec.serve_config_v2 or "")
    except ServeConfigError as error:
        return Impossible(f"{_FIELD}{error}")


def list_applications(config: JsonObject) -> dict[str, JsonObject]:
    """By name, as Serve reports them: one that says nothing about its logs has what is said for all."""
    for_all = config.get("logging_config")
    return {
        name_of(each): {**each, "logging_config": for_all} if for_all and not each.get("logging_config") else each
        for each in config.get("applications") or []
    }


def digest_config(config: JsonObject) -> str:
    return hashlib.sha256(encode_json(config)).hexdigest()[:16]
