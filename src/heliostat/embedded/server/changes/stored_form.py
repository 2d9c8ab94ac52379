"""An object as it is kept and served: its bytes, with kind and apiVersion first, so that lists can cut them off."""

from collections.abc import Callable
from typing import Any

import msgspec

from heliostat.embedded.server.limits import LARGEST_STORED, too_large_to_store
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject, encode_json


def encode_stored(tree: JsonObject, resource: Resource) -> bytes:
    rest = {key: value for key, value in tree.items() if key not in ("kind", "apiVersion")}
    return resource.item_prefix + encode_json(rest)[1:]


def encode_bounded(tree: JsonObject, resource: Resource) -> bytes:
    """What is written anew: defaults and completions count, so the size of a request alone bounds nothing."""
    body = encode_stored(tree, resource)
    if len(body) > LARGEST_STORED:
        raise too_large_to_store()
    return body


def build_encoder(
    tree: JsonObject, resource: Resource, form: Callable[[JsonObject, Resource], bytes] = encode_bounded
) -> Callable[[int], bytes]:
    """For the store, which knows the version only when it writes."""

    def encode(revision: int) -> bytes:
        tree["metadata"]["resourceVersion"] = str(revision)
        return form(tree, resource)

    return encode


def is_same(new: JsonObject, old: JsonObject) -> bool:
    """But for the version."""
    return _without_version(new) == _without_version(old)


def _without_version(tree: JsonObject) -> dict[str, Any]:
    metadata = {key: value for key, value in tree["metadata"].items() if key != "resourceVersion"}
    return {**tree, "metadata": metadata}


def deleted_status(resource: Resource, body: bytes) -> bytes:
    """What a deletion that is over answers."""
    metadata = msgspec.json.decode(body)["metadata"]
    details = {"name": metadata["name"], "group": resource.group, "kind": resource.plural, "uid": metadata["uid"]}
    return encode_json(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
    )
