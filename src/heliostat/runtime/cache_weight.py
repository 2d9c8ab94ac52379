"""How many bytes of memory a cache takes: an estimate from a few of its objects, made when somebody asks.

Rules: nothing is counted while events come in; a part that several objects share is divided among those that hold it,
by its reference count, so that what ``sharing`` saves is not counted; the objects looked at are drawn by lot, because
steps of any length fall in with some pattern (a head, three workers, a head, …), and the same lot falls on as many
objects again, so that a cache at rest has one weight. Objects are frozen, so any thread may look. What the decoder
remembers in order to share is not counted, nor what the allocator keeps in reserve.
"""

import sys
from collections.abc import Iterable
from random import Random
from typing import Any, Final

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Key
from heliostat.runtime.cache import Cache

SAMPLE: Final = 32
_OURS = 2  # references to a part that are this module's own while it is weighed
_NEGLIGIBLE = 1 / 256  # a part that so many others hold too
_KEY_BYTES = sys.getsizeof(Key("", ""))
_RAW_BYTES = 64 + sys.getsizeof(b"")  # of a msgspec.Raw without its content; the library does not tell


def estimate_bytes(cache: Cache[Any]) -> int:
    items = list(cache)
    structure = sum(map(sys.getsizeof, cache.tables())) + len(items) * _KEY_BYTES
    sample = [items[place] for place in _draw(len(items))]
    if not sample:
        return structure
    return structure + round(sum(map(_weigh, sample)) * len(items) / len(sample))


def _draw(count: int) -> Iterable[int]:
    places = range(count)
    return places if count <= SAMPLE else Random(count).sample(places, SAMPLE)  # noqa: S311  no secret


def _weigh(item: Struct) -> float:
    """The item itself and its share in everything inside."""
    weight: float = sys.getsizeof(item)
    parts: list[tuple[Any, float]] = [(part, 1.0) for part in _inside(item)]
    while parts:
        part, share = parts.pop()
        share /= max(1, sys.getrefcount(part) - _OURS)
        if share < _NEGLIGIBLE:
            continue
        weight += _size(part) * share
        parts += [(inner, share) for inner in _inside(part)]
    return weight


def _size(part: Any) -> int:
    return _RAW_BYTES + memoryview(part).nbytes if isinstance(part, msgspec.Raw) else sys.getsizeof(part)


def _inside(part: Any) -> list[Any]:
    if isinstance(part, Struct):
        return [getattr(part, name) for name in part.__struct_fields__]
    if isinstance(part, dict):
        return [*part, *part.values()]
    return list(part) if isinstance(part, tuple | list | frozenset) else []
