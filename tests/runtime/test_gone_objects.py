"""A write that finds its object gone, or ends it: nothing else is decided before the view shows that, too."""

import asyncio

import msgspec
import pytest

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Metadata, Object
from heliostat.kube.plan import Action, Patch, Ref, WriteStatus
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.runtime.cache import CachedKind, CacheWriter
from heliostat.runtime.caches import Caches
from heliostat.runtime.errors import AmbiguousError, NotFoundError
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.writing import Writing
from heliostat.testing.faults import Drop, Fault
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, SmallServer, small_server

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


HELD: JsonObject = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "held", "namespace": "default", "finalizers": ["example.com/held"]},
}
LET_GO: JsonObject = {"metadata": {"finalizers": None}}


async def make_held(server: SmallServer) -> Metadata:
    """An object that was asked to go and waits for its last finalizer."""
    await server.client.create(CONFIG_MAP, HELD)
    uid = (await server.get("held"))["metadata"]["uid"]
    await server.client.delete(CONFIG_MAP, "default", "held", uid=uid)
    return msgspec.convert((await server.get("held"))["metadata"], Metadata)


@pytest.mark.parametrize("is_answered", [True, False])
def test_the_last_finalizer_ends_an_object_and_the_view_must_show_that(is_answered: bool) -> None:
    """The answer names the version before, which the view has: that alone would let the next decision be made."""

    async def play() -> None:
        async with small_server() as server:
            metadata = await make_held(server)
            caches = Caches()
            cache = caches.of(CachedKind(CONFIG_MAP, Object))
            CacheWriter(cache).replace([Object(metadata)], int(metadata.resource_version))
            freshness = Freshness(caches)
            writing = Writing(server.client, ResourceTypes((CONFIG_MAP,)), freshness, random_bytes=bytes)
            ref = Ref("v1", "ConfigMap", "default", "held")
            patch = Patch(ref, metadata.uid, metadata.resource_version, LET_GO, "released")
            if is_answered:
                await writing.carry_out("me", patch)
            else:
                server.faults.add(Fault(Drop(after=True), method="PATCH"))
                with pytest.raises(AmbiguousError):
                    await writing.carry_out("me", patch)
            while (seconds := await writing.settle("me")) > 0:
                await asyncio.sleep(seconds)
            assert server.names() == []
            assert freshness.missing("me") is not None
            CacheWriter(cache).remove(Object(metadata))
            assert freshness.missing("me") is None

    run_virtual(play())
