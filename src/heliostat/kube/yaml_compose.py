"""From YAML events to plain JSON trees, within bounds.

Rules: keys become text; a key given twice is refused; ``<<`` merges in the order written, as kubectl does; an alias
gives a copy, so trees share nothing; nesting, expanded aliases and recursion are limited while reading, not afterwards.
Splitting a file into Kubernetes objects is not done here.
"""

from collections.abc import Iterator
from typing import Any, NoReturn

from msgspec import Struct
from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from heliostat.kube.document_error import DocumentError
from heliostat.kube.jsontree import MAX_DEPTH, JsonObject, copy_tree
from heliostat.kube.yaml_events import explain, open_events
from heliostat.kube.yaml_lines import first_line_of_key, is_merge
from heliostat.kube.yaml_scalars import (
    MAPPING_TAGS,
    SEQUENCE_TAGS,
    Scalar,
    ScalarError,
    key_text,
    resolve_plain,
    resolve_tagged,
    short_tag,
)

MAX_NODES = 2_000_000  # values of one text: about what the largest text holds when people write it
MAX_ALIASED = 250_000  # nodes that the aliases of one text may add


class _Anchored(Struct):
    """A node that has a name. ``value`` counts only when ``is_complete``: an alias inside it would be a cycle."""

    is_complete: bool = False
    value: Any = None
    nodes: int = 1
    height: int = 0  # levels of containers


class Composer:
    """Reads one text. ``nodes`` and ``aliased`` count the work done."""

    def __init__(self, text: str, source: str, *, max_nodes: int = MAX_NODES, pure: bool = False) -> None:
        try:
            self.next = open_events(text, pure=pure) if pure else open_events(text)
        except YAMLError as error:
            raise explain(error, text, source) from None
        self.text = text
        self.source = source
        self.max_nodes = max_nodes
        self.anchors: dict[str, _Anchored] = {}
        self.nodes = 0
        self.mappings = 0
        self.aliased = 0
        self.deepest = 0

    def documents(self) -> Iterator[Any]:
        """Each document's tree, once its end was seen: what follows a value may show that it was none."""
        try:
            while not isinstance(event := self.next(), StreamEndEvent):
                if isinstance(event, DocumentStartEvent):
                    self.anchors = {}
                    tree = self._node(self.next(), 0)
                    self.next()
                    yield tree
        except YAMLError as error:
            raise explain(error, self.text, self.source) from None

    def _node(self, event: Any, depth: int) -> Any:
        """``depth`` counts the containers around the node."""
        if event.__class__ is AliasEvent:
            return self._alias(event, depth)
        self.nodes += 1
        if self.nodes > self.max_nodes:
            self._fail(event, f"the text holds more than {self.max_nodes:,} values", "split it into several files")
        if event.anchor is not None:
            return self._anchored(event, depth)
        return self._content(event, depth)

    def _content(self, event: Any, depth: int) -> Any:
        if event.__class__ is ScalarEvent:
            return self._scalar(event)
        depth += 1
        if depth > MAX_DEPTH:
            self._fail(event, f"nested deeper than {MAX_DEPTH} levels", "flatten the document")
        self.deepest = max(self.deepest, depth)
        if event.__class__ is MappingStartEvent:
            self._check_tag(event, MAPPING_TAGS)
            return self._mapping(depth)
        self._check_tag(event, SEQUENCE_TAGS)
        return self._sequence(depth)

    def _scalar(self, event: Any) -> Scalar:
        try:
            if event.tag is not None:
                return resolve_tagged(event.tag, event.value)
            return resolve_plain(event.value) if event.implicit[0] else event.value
        except ScalarError as error:
            self._fail(event, error.problem, error.fix)

    def _sequence(self, depth: int) -> list[Any]:
        items = []
        while (event := self.next()).__class__ is not SequenceEndEvent:
            items.append(self._node(event, depth))
        return items

    def _mapping(self, depth: int) -> JsonObject:
        self.mappings += 1
        ordinal = self.mappings
        tree: JsonObject = {}
        merged: set[str] = set()  # keys that only a << has given: they may be given again
        while (event := self.next()).__class__ is not MappingEndEvent:
            if is_merge(event):
                self._merge(event, self._node(self.next(), depth), tree, merged)
                continue
            key = self._key(event, depth)
            if key in tree and key not in merged:
                self.meet_repeated_key(ordinal, event, key)
            merged.discard(key)
            tree[key] = self._node(self.next(), depth)
        return tree

    def _key(self, event: Any, depth: int) -> str:
        key = self._node(event, depth)
        if key.__class__ is str:
            return key
        if isinstance(key, (dict, list)):
            self._fail(event, "a mapping or list cannot be a key", "quote it if it is meant as text, such as '{{ x }}'")
        try:
            return key_text(key)
        except ScalarError as error:
            self._fail(event, error.problem, error.fix)

    def _merge(self, event: Any, value: Any, tree: JsonObject, merged: set[str]) -> None:
        sources = value if isinstance(value, list) else [value]
        for source in reversed(sources):  # earlier ones win
            if not isinstance(source, dict):
                self._fail(
                    event, "<< takes a mapping or a list of mappings", 'give it an alias such as *name, or quote "<<"'
                )
            merged.update(source.keys() - tree.keys())
            tree.update(source)

    def _anchored(self, event: Any, depth: int) -> Any:
        """Composes a named node and notes what an alias to it would add."""
        anchored = self.anchors[event.anchor] = _Anchored()
        before, deepest, self.deepest = self.nodes + self.aliased, self.deepest, depth
        anchored.value = self._content(event, depth)
        anchored.nodes = self.nodes + self.aliased - before + 1
        anchored.height = self.deepest - depth
        anchored.is_complete = True
        self.anchors[event.anchor] = anchored
        self.deepest = max(deepest, self.deepest)
        return anchored.value

    def _alias(self, event: Any, depth: int) -> Any:
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            self._fail(
                event, f"the alias *{event.anchor} has no anchor", f"define &{event.anchor} above, or quote the text"
            )
        if not anchored.is_complete:
            self._fail(event, f"the alias *{event.anchor} stands inside its own anchor", "write the value out")
        self.aliased += anchored.nodes
        if self.aliased > MAX_ALIASED:
            self._fail(
                event, f"aliases expand to more than {MAX_ALIASED:,} values", "write the values out or split the file"
            )
        self.deepest = max(self.deepest, depth + anchored.height)
        if self.deepest > MAX_DEPTH:
            self._fail(event, f"nested deeper than {MAX_DEPTH} levels by aliases", "flatten the document")
        return copy_tree(anchored.value)

    def _check_tag(self, event: Any, known: tuple[str, ...]) -> None:
        if event.tag is not None and event.tag not in known:
            self._fail(event, f"the tag {short_tag(event.tag)} does not belong here", "remove the tag")

    def meet_repeated_key(self, mapping: int, event: Any, key: str) -> None:
        """Refuses it. A reader that takes the last one, as kube-apiserver does, has another way to meet it."""
        first = first_line_of_key(self.text, mapping, key)
        self._fail(event, f'the key "{key}" is given twice, first in line {first}', "keep one of the two")

    def _fail(self, event: Any, problem: str, fix: str) -> NoReturn:
        mark = event.start_mark
        raise DocumentError(self.source, mark.line + 1, mark.column + 1, problem, fix)
