"""Kubernetes documents as kubectl reads them: several YAML documents per text, or JSON objects one after the other.

Rules: empty documents are dropped; ``kind: List`` (and any ``...List`` with items) is taken apart; a document is an
object; texts past ``MAX_BYTES`` are refused unread. Every refusal is a ``DocumentError``; no other exception leaves.
Which kinds and fields exist is not known here.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from heliostat.kube.document_error import DocumentError
from heliostat.kube.json_explain import JsonSyntaxError, index_json
from heliostat.kube.jsontree import JsonObject, JsonRefusedError, after_space, decode_utf8, scan_json
from heliostat.kube.paths import Path
from heliostat.kube.places import Place, line_at

__all__ = ["MAX_BYTES", "Document", "DocumentError", "read_documents"]

MAX_BYTES = 16 * 1024 * 1024
_BYTE_ORDER_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class _Text:
    """A text that has been read, with the lines of its parts on demand."""

    def __init__(self, text: str, source: str, json_starts: list[int]) -> None:
        self.text = text
        self.source = source
        self.json_starts = json_starts  # offsets of the documents; empty for YAML
        self.places: dict[int, Place] = {}

    def place(self, position: int) -> Place:
        if position not in self.places:
            if self.json_starts:
                self.places[position] = index_json(self.text, self.json_starts[position], self.source)
            else:
                from heliostat.kube.yaml_lines import index_yaml  # noqa: PLC0415  who reads JSON alone is 1 MB smaller

                self.places = dict(enumerate(index_yaml(self.text)))
        return self.places[position]


class Document(Struct, frozen=True):
    """One object of a text; ``index`` counts the objects."""

    tree: JsonObject
    source: str
    index: int
    _text: _Text
    _position: int  # which document of the text
    _prefix: Path  # where in that document: ("items", 3) in a List

    def line_of(self, path: Path = ()) -> int:
        """The 1-based line of the key or item, or of its nearest ancestor that exists."""
        return line_at(self._text.place(self._position), (*self._prefix, *path))


def read_documents(data: bytes | str, source: str = "-") -> list[Document]:
    """Every object of the text, in order."""
    content = _read_text(data, source)
    if (found := _read_json(content, source)) is not None:
        text = _Text(content, source, [start for _, start in found])
        trees = [tree for tree, _ in found]
    else:
        from heliostat.kube.yaml_compose import Composer  # noqa: PLC0415  who reads JSON alone is 1 MB smaller

        text = _Text(content, source, [])
        trees = list(Composer(content, source).documents())
    documents: list[Document] = []
    for position, tree in enumerate(trees):
        for item, prefix in _expand(tree, ()) if tree is not None else ():
            documents.append(Document(item, source, len(documents), text, position, prefix))
            _check_object(documents[-1])
    return documents


def _read_text(data: bytes | str, source: str) -> str:
    if len(data) > MAX_BYTES:
        problem = f"the text has {len(data):,} bytes, more than the {MAX_BYTES:,} that are read"
        raise DocumentError(source, 1, 1, problem, "split it into several files")
    if isinstance(data, bytes):
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
        data = decode_utf8(data, source) if encoding is None else _decode(data, encoding, source)
    elif not data.isascii():
        _check_encodable(data, source)
    return data.removeprefix("\ufeff")


def _decode(data: bytes, encoding: str, source: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        problem = f"the byte at offset {error.start} is not valid UTF-16, which the text claims to be"
        raise DocumentError(source, 1, 1, problem, "save the file as UTF-8 text") from None


def _check_encodable(text: str, source: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line, column = text.count("\n", 0, error.start) + 1, error.start - text.rfind("\n", 0, error.start)
        problem = "the text holds half of a surrogate pair, which is no character"
        raise DocumentError(source, line, column, problem, "remove it") from None


def _read_json(text: str, source: str) -> list[tuple[Any, int]] | None:
    """The JSON objects of the text with their offsets; None when it is not JSON, and so perhaps YAML."""
    found: list[tuple[Any, int]] = []
    start = after_space(text, 0)
    while start < len(text):
        if text[start] != "{":
            return None
        try:
            tree, end = scan_json(text, start)
        except JsonRefusedError:
            try:
                index_json(text, start, source)
            except JsonSyntaxError:
                return None
            raise AssertionError("the fast decoder refused what the telling one accepts") from None
        found.append((tree, start))
        start = after_space(text, end)
    return found or None


def _expand(tree: Any, path: Path) -> Iterator[tuple[Any, Path]]:
    """The objects of a List, or the object itself. An item without a kind has the List's, as kubectl fills in."""
    kind = tree.get("kind") if isinstance(tree, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(tree.get("items"), list):
        yield tree, path
        return
    for index, item in enumerate(tree["items"]):
        if isinstance(item, dict) and kind != "List" and "kind" not in item:
            item = {"apiVersion": tree.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from _expand(item, (*path, "items", index))


_KINDS_OF_VALUE = {str: "text", bool: "a boolean", list: "a list", type(None): "null"}


def _check_object(document: Document) -> None:
    kind: type = type(document.tree)
    if kind is not dict:
        what = _KINDS_OF_VALUE.get(kind, "a number")
        problem = f"a Kubernetes object was expected here, not {what}"
        raise DocumentError(document.source, document.line_of(), 1, problem, "begin it with apiVersion: and kind:")
