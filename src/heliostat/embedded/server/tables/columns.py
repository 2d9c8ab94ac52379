"""What a table is made of: columns that know their heading and how to fill a cell, and the ones every kind has."""

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.server.tables.durations import age
from heliostat.kube.jsontree import JsonObject

NONE = "<none>"
UNSET = "<unset>"

Cell: TypeAlias = Callable[[JsonObject, float], Any]  # (object, now) -> text, number, boolean or None


class Column(Struct, frozen=True):
    """``priority`` above 0: only kubectl's ``-o wide`` shows it."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    @property
    def definition(self) -> JsonObject:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


Columns: TypeAlias = tuple[Column, ...]


def look(tree: Any, path: str) -> Any:
    """The value at a dotted path; None when something on the way is missing."""
    for part in path.split("."):
        if not isinstance(tree, dict):
            return None
        tree = tree.get(part)
    return tree


def items(tree: Any, path: str) -> list[Any]:
    """The list at a dotted path; empty when it is missing."""
    return look(tree, path) or []


def entries(tree: Any, path: str) -> JsonObject:
    """The object at a dotted path; empty when it is missing."""
    return look(tree, path) or {}


def text_at(path: str, missing: str = "") -> Cell:
    return lambda tree, _now: look(tree, path) or missing


def number_at(path: str) -> Cell:
    return lambda tree, _now: look(tree, path) or 0


def age_at(path: str) -> Cell:
    return lambda tree, now: age(look(tree, path), now)


def of_object(read: Callable[[JsonObject], Any]) -> Cell:
    """A cell that does not depend on the time."""
    return lambda tree, _now: read(tree)


def text(name: str, path: str, missing: str = "", *, priority: int = 0) -> Column:
    return Column(name, text_at(path, missing), priority=priority)


def number(name: str, path: str) -> Column:
    return Column(name, number_at(path), type="integer")


def computed(name: str, read: Callable[[JsonObject], Any], *, type: str = "string", priority: int = 0) -> Column:  # noqa: A002
    return Column(name, of_object(read), type=type, priority=priority)


NAME = Column("Name", text_at("metadata.name"), format="name")
AGE = Column("Age", age_at("metadata.creationTimestamp"))
CREATED_AT = Column("Created At", text_at("metadata.creationTimestamp"), type="date")

# Of a kind that nobody wrote columns for.
DEFAULT: Columns = (NAME, CREATED_AT)
