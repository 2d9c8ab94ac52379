"""A write that finds its object gone: the view is old, and nothing else is decided from it before it has caught up."""

import asyncio

import pytest

from heliostat.kube.objects import Metadata, Object
from heliostat.kube.plan import Action, Patch, Ref, WriteStatus
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.runtime.cache import CachedKind, CacheWriter
from heliostat.runtime.caches import Caches
from heliostat.runtime.errors import NotFoundError
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.writing import Writing
from runtime.small_server import CONFIG_MAP, small_server

POD = ResourceType("v1", "Pod", "pods")
GONE_POD = Ref("v1", "Pod", "default", "gone")
GONE_MAP = Ref("v1", "ConfigMap", "default", "gone")


@pytest.mark.parametrize(
    ("action", "kind", "must_wait"),
    [
        (WriteStatus(GONE_POD, "u", "5", {}, "changed"), POD, True),
        (Patch(GONE_POD, "u", "5", {"metadata": {"labels": {"a": "b"}}}, "changed"), POD, True),
        (WriteStatus(GONE_MAP, "u", "5", {}, "changed"), CONFIG_MAP, False),  # ConfigMaps have no status at all
    ],
    ids=["status", "patch", "no such path"],
)
def test_what_is_gone_over_there_must_be_gone_from_the_view(
    action: Action, kind: ResourceType, must_wait: bool
) -> None:
    async def play() -> None:
        async with small_server() as server:
            caches = Caches()
            cache = caches.of(CachedKind(kind, Object))
            shown = Object(Metadata(name="gone", namespace="default", uid="u", resource_version="5"))
            CacheWriter(cache).replace([shown], 5)
            freshness = Freshness(caches)
            writing = Writing(server.client, ResourceTypes((POD, CONFIG_MAP)), freshness, random_bytes=bytes)
            with pytest.raises(NotFoundError):
                await writing.carry_out("me", action)
            assert (freshness.missing("me") is not None) is must_wait
            CacheWriter(cache).remove(shown)
            assert freshness.missing("me") is None

    asyncio.run(play())
