"""Where the parts of a document stand in its text: a tree of lines beside the tree of values."""

from typing import TypeAlias

from msgspec import Struct

from heliostat.kube.paths import Path


class Place(Struct, gc=False):
    """The 1-based line of a key or item, and the places inside its value if that is a container."""

    line: int
    children: "Children | None" = None


Children: TypeAlias = dict[str | int, Place]


def line_at(place: Place, path: Path) -> int:
    """The line of the path, or of its nearest ancestor that exists."""
    for part in path:
        child = place.children.get(part) if place.children is not None else None
        if child is None:
            break
        place = child
    return place.line
