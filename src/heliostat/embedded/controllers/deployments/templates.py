"""Pod templates: when two are the same, and the hash that tells the ReplicaSets of a Deployment apart.

Rules: the ``pod-template-hash`` label does not count; otherwise they are compared as the API server keeps them, which
has filled in defaults and left out what is empty. The hash is of the template and of how often a hash turned out to be
taken; its letters spell no words.
"""

import hashlib
from typing import Any

from heliostat.kube.jsontree import JsonObject, drop_nulls, encode_json

HASH_LABEL = "pod-template-hash"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_NAME = 253


def is_same_template(left: JsonObject, right: JsonObject) -> bool:
    return left == right or _meaning_of(left) == _meaning_of(right)


def hash_template(template: JsonObject, collisions: int | None) -> str:
    """A number of 32 bits, digit by digit in letters that are safe in names."""
    text = encode_json(_sorted(_meaning_of(template))) + (b"" if collisions is None else b"#%d" % collisions)
    number = int.from_bytes(hashlib.sha256(text).digest()[:4], "big")
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def name_replica_set(deployment: str, template_hash: str) -> str:
    return f"{deployment[: _LONGEST_NAME - 1 - len(template_hash)]}-{template_hash}"


def add_hash_label(template: JsonObject, template_hash: str) -> JsonObject:
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), HASH_LABEL: template_hash}
    return {**template, "metadata": {**metadata, "labels": labels}}


def add_hash_requirement(selector: JsonObject, template_hash: str) -> JsonObject:
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: template_hash}}


def _meaning_of(template: JsonObject) -> JsonObject:
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    meaning: JsonObject = drop_nulls({**template, "metadata": {**metadata, "labels": labels}})
    return meaning


def _sorted(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _sorted(tree[key]) for key in sorted(tree)}
    return [_sorted(item) for item in tree] if isinstance(tree, list) else tree
