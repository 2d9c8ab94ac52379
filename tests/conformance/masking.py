"""Replace what no two servers can have in common by names that they must have in common.

A uid becomes its object's name and incarnation; a resourceVersion its place among the versions of that object that the
sequence saw; a generated name its prefix and a number. Times, list revisions, continue tokens, addresses, ports and
tokens that the server chose become placeholders; bookmarks that only tell progress are left out, and so are
managedFields unless the sequence is about them. What a request of the sequence spells out is never replaced.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from conformance.model import Json, Sequence
from conformance.recording import Reply, WatchRead

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_REVISION_IN_TEXT = re.compile(r"(?i)((?:resource ?version|current)(?: in [a-z ]+)?: )\d+")
_RECORD = re.compile(r"(ResourceVersion in (?:record|the precondition) )\(\d+\)")
_YAML_REVISION = re.compile(r'(\n  resourceVersion: )"\d+"')
_TOO_OLD = re.compile(r"(too old resource version: )\d+ \(\d+\)|(provided list is too old: )\d+ \(\d+\)")
# K3: what is wrong with an applied object, a line each.
_LISTED_ERRORS = re.compile(r"(?<=: errors:)(?:\n  [^\n]*)+")
_PORT_IN_TEXT = re.compile(r"\b3[0-2]\d{3}\b")
_VOLUME = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
# K2: what a refused change of a Pod ends with.
INTERNAL_DIFF = re.compile(r"(?:\n@@ -\d+,\d+ \+\d+,\d+ @@(?:\n[ +-].*)*)+\n?")
# K1: who an apply conflicts with when nobody has applied before.
_EARLIER = re.compile(r'(conflicts? with )"(?:conformance|before-first-apply)"')
_GENERATE = re.compile(r'"generateName":"([^"]*)"')
_SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"
_LONGEST_PREFIX = 58
# A refused patch is told with the whole object, whose managedFields (K1) and order of fields are not comparable.
_OBJECT_IN_TEXT = re.compile(r'Invalid value: "\{\\"(?:kind|apiVersion)\\":.*\}": ', re.DOTALL)
_AGE = re.compile(r"^(\d+[smhd])+$")
# Where the server puts what it chose; the last part of the field's path.
_CHOSEN = {
    "clusterIP": "<address>",
    "clusterIPs": "<address>",
    "nodePort": "<port>",
    "healthCheckNodePort": "<port>",
    "continue": "<continue>",
    "token": "<token>",
    "serverAddress": "<address>",
    "controller-uid": "<uid>",
    "batch.kubernetes.io/controller-uid": "<uid>",
}


def mask(sequence: Sequence, raw: list[Reply | WatchRead]) -> list[Json]:
    names = _Names(sequence)
    for result in raw:
        names.note(result)
    masker = _Masker(sequence, names)
    return [masker.mask_step(result) for result in raw]


class _Names:
    """The identities of a recording: collected first, because an answer may mention what a later one shows."""

    def __init__(self, sequence: Sequence) -> None:
        self.spelled_out = msgspec.json.encode(sequence).decode()
        self.uids: dict[str, str] = {}
        self._generators = [_generator(prefix) for prefix in _GENERATE.findall(self.spelled_out)]
        self._generated: dict[str, str] = {}
        self._incarnations: dict[str, int] = {}
        self._versions: dict[str, set[int]] = {}

    def note(self, result: Reply | WatchRead) -> None:
        trees = [result.body] if isinstance(result, Reply) else result.events
        for tree in trees:
            for metadata in _all_metadata(tree):
                self._note_object(metadata)

    def _note_object(self, metadata: dict[str, Any]) -> None:
        uid, name = metadata.get("uid"), str(metadata.get("name"))
        if not isinstance(uid, str):
            return
        if uid not in self.uids:
            shown = self.shown(name)
            self._incarnations[shown] = self._incarnations.get(shown, 0) + 1
            self.uids[uid] = f"<uid {shown}#{self._incarnations[shown]}>"
        version = metadata.get("resourceVersion")
        if isinstance(version, str) and version.isdecimal():
            self._versions.setdefault(uid, set()).add(int(version))

    def shown(self, text: str) -> str:
        """Generated names as their prefix and a number."""
        for pattern, prefix in self._generators:
            for name in dict.fromkeys(pattern.findall(text)):
                text = text.replace(name, self._numbered(name, prefix))
        return text

    def _numbered(self, name: str, prefix: str) -> str:
        if f'"{name}"' in self.spelled_out:
            return name
        return self._generated.setdefault(name, f"{prefix}<{len(self._generated) + 1}>")

    def version(self, uid: object, version: str) -> str:
        if not isinstance(uid, str) or not version.isdecimal():
            return version
        return f"<version {sorted(self._versions[uid]).index(int(version)) + 1}>"


class _Masker:
    def __init__(self, sequence: Sequence, names: _Names) -> None:
        self._names = names
        self._keeps_managed_fields = sequence.keeps_managed_fields

    def mask_step(self, result: Reply | WatchRead) -> Json:
        if isinstance(result, WatchRead):
            told = [self._tree(event, "") for event in result.events if not _is_progress(event)]
            return {"events": told, "ended": result.ended}
        noted: Json = {"status": result.status}
        if result.content_type:
            noted["type"] = result.content_type.replace(" ", "")
        if result.warnings:
            noted["warnings"] = [self._text(text) for text in result.warnings]
        if result.body is not None:
            noted["body"] = self._tree(_without_list_revision(result.body), "")
        return noted

    def _tree(self, tree: Json, field: str) -> Json:
        if isinstance(tree, dict):
            return self._object(tree)
        if isinstance(tree, list):
            return [self._tree(item, field) for item in tree]
        if field in _CHOSEN and self._is_chosen(tree):
            return _CHOSEN[field]
        return self._text(tree) if isinstance(tree, str) else tree

    def _object(self, tree: Json) -> Json:
        if tree.get("type") == "BOOKMARK" and isinstance(tree.get("object"), dict):
            tree = {**tree, "object": _without_revision(tree["object"])}
        if tree.get("kind") == "Status":
            tree = _with_sorted_causes(tree)
        if tree.get("kind") == "Table":
            tree = _without_ages_and_prose(_without_list_revision(tree))
        masked: Json = {}
        for key, value in tree.items():
            if key == "managedFields" and not self._keeps_managed_fields:
                continue
            if key == "managedFields" and isinstance(value, list):
                value = sorted(value, key=_owner_of)
            if key == "resourceVersion" and "uid" in tree and isinstance(value, str):
                masked[key] = self._names.version(tree["uid"], value)
            else:
                masked[key] = self._tree(value, key)
        return masked

    def _is_chosen(self, value: Json) -> bool:
        if value in ("", "None", None, 0):
            return False
        return msgspec.json.encode(value).decode() not in self._names.spelled_out

    def _text(self, text: str) -> str:
        for uid, name in self._names.uids.items():
            text = text.replace(uid, name)
        text = _UUID.sub(lambda match: match[0] if match[0] in self._names.spelled_out else "<uid>", text)
        text = self._names.shown(text)
        text = _TIME.sub(lambda match: match[0] if match[0] in self._names.spelled_out else "<time>", text)
        text = _TOO_OLD.sub(lambda match: f"{match[1] or match[2]}<revision> (<revision>)", text)
        text = INTERNAL_DIFF.sub("", text)
        text = _LISTED_ERRORS.sub(lambda match: "\n".join(sorted(match[0].split("\n"))), text)
        text = _EARLIER.sub(r"\1<earlier>", text)
        text = _RECORD.sub(r"\1(<revision>)", text)
        text = _YAML_REVISION.sub(r"\1<revision>", text)
        text = _OBJECT_IN_TEXT.sub('Invalid value: "<object>": ', text)
        if "Duplicate value" in text:
            text = _PORT_IN_TEXT.sub(lambda match: match[0] if match[0] in self._names.spelled_out else "<port>", text)
        text = _REVISION_IN_TEXT.sub(lambda match: f"{match[1]}<revision>", text)
        return _VOLUME.sub("kube-api-access-<x>", text)


def _owner_of(entry: Json) -> tuple[str, ...]:
    """Entries are ordered by the second of their last write, which is chance."""
    return tuple(str(entry.get(key, "")) for key in ("operation", "manager", "subresource", "apiVersion"))


def _with_sorted_causes(status: Json) -> Json:
    """The real server walks some maps in any order, so problems come in any order."""
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    if not isinstance(causes, list) or len(causes) < 2:
        return status
    ordered = sorted(causes, key=lambda cause: (cause.get("field", ""), cause.get("message", "")))
    message = str(status.get("message")).replace(_told(causes), _told(ordered))
    return {**status, "message": message, "details": {**details, "causes": ordered}}


def _told(causes: list[Json]) -> str:
    """As in the message, where each problem is told once."""
    return ", ".join(dict.fromkeys(f"{cause.get('field')}: {cause.get('message')}" for cause in causes))


def _is_progress(event: Json) -> bool:
    """A bookmark that only says how far the watch is: it comes when the server likes."""
    return bool(event.get("type") == "BOOKMARK" and not event["object"].get("metadata", {}).get("annotations"))


def _generator(prefix: str) -> tuple[re.Pattern[str], str]:
    return re.compile(rf"\b{re.escape(prefix[:_LONGEST_PREFIX])}{_SUFFIX}\b"), prefix


def _all_metadata(tree: Json) -> Iterator[dict[str, Any]]:
    if isinstance(tree, list):
        for item in tree:
            yield from _all_metadata(item)
    elif isinstance(tree, dict):
        metadata = tree.get("metadata")
        if isinstance(metadata, dict):
            yield metadata
        for key, value in tree.items():
            if key != "metadata":
                yield from _all_metadata(value)


def _without_list_revision(body: Json) -> Json:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    if not isinstance(metadata, dict) or not metadata.get("resourceVersion") or "uid" in metadata:
        return body
    return _without_revision(body)


def _without_revision(tree: Json) -> Json:
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict):
        return tree
    return {**tree, "metadata": {**metadata, "resourceVersion": "<revision>"}}


def _without_ages_and_prose(table: Json) -> Json:
    rows = [
        {**row, "cells": ["<age>" if isinstance(cell, str) and _AGE.match(cell) else cell for cell in row["cells"]]}
        for row in table.get("rows") or ()
    ]
    return {**table, "rows": rows, "columnDefinitions": _without_prose(table.get("columnDefinitions") or [])}


def _without_prose(columns: list[Json]) -> list[Json]:
    """K5: the descriptions of columns."""
    return [{key: value for key, value in column.items() if key != "description"} for column in columns]
