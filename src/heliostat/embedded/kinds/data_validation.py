"""ConfigMaps and Secrets: keys, size, what a type of Secret must hold, and what ``immutable`` keeps."""

import base64
from collections.abc import Iterator

import msgspec

from heliostat.embedded.kinds.rules.causes import changed, each_invalid, forbidden, invalid, required, too_long
from heliostat.embedded.kinds.rules.text_rules import config_key_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

LARGEST_DATA = 1024 * 1024
_SEALED = "field is immutable when `immutable` is set"
_ACCOUNT = "kubernetes.io/service-account.name"
_HIDDEN = "<secret contents redacted>"
_TLS = ("tls.crt", "tls.key")
_BASIC = ("username", "password")
_DOCKER = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def config_map_causes(tree: JsonObject) -> Iterator[Cause]:
    texts, binary = tree.get("data") or {}, tree.get("binaryData") or {}
    size = 0
    for key, value in texts.items():
        yield from each_invalid(f"data[{key}]", key, config_key_problems(key))
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len(value.encode()) if not value.isascii() else len(value)
    for key, value in binary.items():
        yield from each_invalid(f"binaryData[{key}]", key, config_key_problems(key))
        size += _decoded_size(value)
    if size > LARGEST_DATA:
        yield too_long("[]", LARGEST_DATA)  # kube-apiserver names the whole object so


def _decoded_size(text: str) -> int:
    return len(text) * 3 // 4 - text.count("=", -2)


def changed_config_map_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from _sealed_causes(tree, old, ("data", "binaryData"))
    yield from config_map_causes(tree)


def _sealed_causes(tree: JsonObject, old: JsonObject, parts: tuple[str, ...]) -> Iterator[Cause]:
    if not old.get("immutable"):
        return
    if not tree.get("immutable"):
        yield forbidden("immutable", _SEALED)
    for part in parts:
        if (tree.get(part) or {}) != (old.get(part) or {}):
            yield forbidden(part, _SEALED)


def secret_causes(tree: JsonObject) -> Iterator[Cause]:
    data = tree.get("data") or {}
    for key in data:
        yield from each_invalid(f"data[{key}]", key, config_key_problems(key))
    if sum(map(_decoded_size, data.values())) > LARGEST_DATA:
        yield too_long("data", LARGEST_DATA)
    yield from _typed_secret_causes(tree, data)


def _typed_secret_causes(tree: JsonObject, data: JsonObject) -> Iterator[Cause]:
    kind = tree.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        if not (tree["metadata"].get("annotations") or {}).get(_ACCOUNT):
            yield required(f"metadata.annotations[{_ACCOUNT}]")
    elif kind in _DOCKER:
        yield from _json_causes(data, _DOCKER[kind])
    elif kind == "kubernetes.io/basic-auth":
        if not data.keys() & set(_BASIC):
            yield from (required(f"data[{key}]") for key in _BASIC)
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            yield required("data[ssh-privatekey]")
    elif kind == "kubernetes.io/tls":
        yield from (required(f"data[{key}]") for key in _TLS if key not in data)


def _json_causes(data: JsonObject, key: str) -> Iterator[Cause]:
    if key not in data:
        yield required(f"data[{key}]")
        return
    content = base64.b64decode(data[key])
    try:
        if not isinstance(msgspec.json.decode(content), dict):
            yield invalid(f"data[{key}]", _HIDDEN, "must be an object")
    except (msgspec.DecodeError, UnicodeDecodeError):
        why = (
            "unexpected end of JSON input"
            if not content.strip()
            else "invalid character looking for beginning of value"
        )
        yield invalid(f"data[{key}]", _HIDDEN, why)


def changed_secret_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from changed("type", tree.get("type"), old.get("type"))
    yield from _sealed_causes(tree, old, ("data",))
    yield from secret_causes(tree)
