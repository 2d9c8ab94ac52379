"""One watch for all namespaces, or one for each that was named; and optional caches."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from heliostat.kube.objects import Key, Metadata
from heliostat.operator.kinds import RAY_CLUSTERS, WholeObject
from heliostat.operator.scope import Scoped, cache_dispensable, cache_needed
from heliostat.runtime.cache import CacheWriter
from heliostat.runtime.caches import Caches


def item(namespace: str, name: str) -> WholeObject:
    return WholeObject(metadata=Metadata(name=name, namespace=namespace, resource_version="5"))


def test_without_names_one_cache_serves_every_namespace_even_while_it_is_empty() -> None:
    caches = Caches()
    scoped = cache_needed(caches, RAY_CLUSTERS, ())
    assert scoped.get(Key("a", "demo")) is None
    (cache,) = scoped
    CacheWriter(cache).put(item("a", "demo"))
    assert scoped.get(Key("a", "demo")) is not None
    assert scoped.in_namespace("b") is cache
    assert len(list(caches)) == 1


def test_each_named_namespace_has_a_watch_of_its_own() -> None:
    caches = Caches()
    scoped = cache_needed(caches, RAY_CLUSTERS, ("a", "b"))
    assert [cache.kind.namespace for cache in scoped] == ["a", "b"]
    CacheWriter(scoped.in_namespace("a")).put(item("a", "demo"))
    assert scoped.get(Key("a", "demo")) is not None
    assert scoped.get(Key("b", "demo")) is None
    with pytest.raises(KeyError):
        scoped.in_namespace("c")


def test_nobody_waits_for_a_refused_kind_that_can_be_done_without() -> None:
    async def scenario() -> None:
        caches = Caches()
        (needed,) = cache_needed(caches, RAY_CLUSTERS, ())
        (dispensable,) = cache_dispensable(caches, RAY_CLUSTERS, ("a",))
        waiting = asyncio.ensure_future(caches.wait())
        CacheWriter(needed).replace([], 7)
        await asyncio.sleep(0)
        assert not waiting.done()
        CacheWriter(dispensable).refuse("rayclusters is forbidden")
        await waiting
        assert dispensable.refused == "rayclusters is forbidden"
        CacheWriter(dispensable).replace([], 8)
        assert dispensable.refused == ""

    asyncio.run(scenario())


@pytest.mark.parametrize("cache_some", [cache_needed, cache_dispensable])
def test_what_the_server_refuses_to_show_is_unknown_and_no_write_has_to_be_seen_in_it(
    cache_some: Callable[..., Scoped[Any]],
) -> None:
    caches = Caches()
    (cache,) = cache_some(caches, RAY_CLUSTERS, ())
    assert not caches.is_unknown(cache)
    CacheWriter(cache).refuse("rayclusters is forbidden")
    assert caches.is_unknown(cache)
