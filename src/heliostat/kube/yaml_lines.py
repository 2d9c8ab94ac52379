"""The lines of a YAML text: a second reading that nobody pays for until an error has to be placed.

The text has been composed before, so aliases resolve and nesting is bounded. An alias leads to the lines of its anchor;
a merged key stands where it was written.
"""

from typing import Any

from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from heliostat.kube.places import Children, Place
from heliostat.kube.yaml_events import NextEvent, open_events
from heliostat.kube.yaml_scalars import key_text, resolve_plain, resolve_tagged


def index_yaml(text: str) -> list[Place]:
    """The places of every document of a text that reads without error."""
    indexer = _Indexer(open_events(text))
    places = []
    while not isinstance(event := indexer.next(), StreamEndEvent):
        if isinstance(event, DocumentStartEvent):
            places.append(indexer.place(indexer.next()))
    return places


class _Indexer:
    def __init__(self, next_event: NextEvent) -> None:
        self.next = next_event
        self.anchors: dict[str | None, Place] = {}

    def place(self, event: Any) -> Place:
        if event.__class__ is AliasEvent:
            return Place(line_of(event), self.anchors[event.anchor].children)
        place = Place(line_of(event))
        if isinstance(event, MappingStartEvent):
            place.children = self.entries()
        elif not isinstance(event, ScalarEvent):
            place.children = self.items()
        if event.anchor is not None:
            self.anchors[event.anchor] = place
        return place

    def entries(self) -> Children:
        entries: Children = {}
        while not isinstance(key := self.next(), MappingEndEvent):
            line = self.place(key).line
            value = self.place(self.next())
            if is_merge(key):
                for source in _merge_sources(value):
                    entries.update(source.children or {})
            elif (name := key_of(key)) is not None:
                value.line = line
                entries[name] = value
        return entries

    def items(self) -> Children:
        items: Children = {}
        while not isinstance(event := self.next(), SequenceEndEvent):
            items[len(items)] = self.place(event)
        return items


def line_of(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def key_of(event: Any) -> str | None:
    """The text of a key; None for an alias, which names a value that stands elsewhere."""
    if not isinstance(event, ScalarEvent):
        return None
    if event.tag is not None:
        return key_text(resolve_tagged(event.tag, event.value))
    return key_text(resolve_plain(event.value)) if event.implicit[0] else event.value


def is_merge(event: Any) -> bool:
    return isinstance(event, ScalarEvent) and event.value == "<<" and event.tag is None and event.implicit[0]


def _merge_sources(value: Place) -> list[Place]:
    """The last one wins: the first of a list is the strongest."""
    children = value.children or {}
    return list(reversed(children.values())) if 0 in children else [value]


def first_line_of_key(text: str, ordinal: int, key: str) -> int:
    """The line of the first such key in the text's mapping with this ordinal, or of the mapping itself."""
    next_event = open_events(text)
    while ordinal:
        event = next_event()
        ordinal -= isinstance(event, MappingStartEvent)
    line = line_of(event)
    depth, is_key = 0, True
    while depth >= 0:
        event = next_event()
        if depth == 0 and is_key and key_of(event) == key:
            return line_of(event)
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        is_key = is_key != (depth == 0)
    return line
