"""The estimate of a cache's memory against what Python's allocator says."""

import gc
import tracemalloc
from collections.abc import Callable, Iterable

import msgspec
import pytest

from heliostat.kube.objects import Metadata, Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import Cache, CachedKind, CacheWriter
from heliostat.runtime.cache_weight import estimate_bytes
from heliostat.runtime.watch_lines import LineDecoder, ObjectLine

pytestmark = pytest.mark.slow


class Thing(Object, frozen=True, gc=False):
    note: str = ""
    content: msgspec.Raw = msgspec.Raw(b"{}")
    parts: tuple[dict[str, str], ...] = ()


THINGS = CachedKind(ResourceType("v1", "Thing", "things"), Thing)


def build_cache(things: Iterable[Thing]) -> Cache[Thing]:
    cache = Cache(THINGS)
    writer = CacheWriter(cache)
    for thing in things:
        writer.put(thing)
    return cache


def thing(number: int, note: str, parts: tuple[dict[str, str], ...] = ()) -> Thing:
    labels = {"owner": f"cluster-{number // 10}"}
    metadata = Metadata(name=f"thing-{number}", namespace="default", resource_version=str(number + 1), labels=labels)
    return Thing(metadata, note, msgspec.Raw(b'"%d"' % number).copy(), parts)


def weigh(things: Iterable[Thing]) -> tuple[int, int]:
    """What it is, and what it is estimated to be."""
    gc.collect()
    tracemalloc.start()
    try:
        cache = build_cache(things)
        gc.collect()
        return tracemalloc.get_traced_memory()[0], estimate_bytes(cache)
    finally:
        tracemalloc.stop()


SHARED = ({"image": "an-image-that-is-the-same-everywhere" * 100},)


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda n: thing(n, f"{n:0400}"), id="all different"),
        pytest.param(lambda n: thing(n, f"{n}", SHARED), id="with a large part that all have"),
        pytest.param(lambda n: thing(n, f"{n:05000}" if n % 4 == 0 else f"{n:020}"), id="every fourth is large"),
    ],
)
def test_the_estimate_is_near_what_the_allocator_says(build: Callable[[int], Thing]) -> None:
    real, estimated = weigh(build(number) for number in range(2000))
    assert 0.75 * real < estimated < 1.25 * real


def test_an_empty_cache_weighs_its_tables() -> None:
    assert 0 < estimate_bytes(build_cache(())) < 1000


def test_what_is_removed_is_no_longer_counted() -> None:
    cache = build_cache(thing(number, f"{number:0900}") for number in range(100))
    full = estimate_bytes(cache)
    writer = CacheWriter(cache)
    for item in cache:
        if item.metadata.name != "thing-7":
            writer.remove(item)
    assert full > 90_000
    assert estimate_bytes(cache) < full / 5


def test_content_kept_as_bytes_is_counted_with_its_length() -> None:
    line = b'{"type":"ADDED","object":{"metadata":{"name":"a"},"content":"%s"}}' % (b"x" * 5000)
    decoded = LineDecoder(Thing).line(line)
    assert isinstance(decoded, ObjectLine)
    cache = build_cache([decoded.object])
    assert 5000 < estimate_bytes(cache) < 8000
