"""A server that refuses streaming lists, in each of the ways that kube-apiserver does: the view is there all the same.

Old etcd: ``newErrWatcher`` ends a stream that has begun with an ERROR of code 500. WatchList=false: 422. Servers before
1.27: 422 in other words. Whatever is in between may say 400, 403 or 405, or close the stream without a word.
"""

import asyncio

import pytest
from msgspec import structs

from heliostat.kube.objects import Object
from heliostat.runtime.cache import Cache, CachedKind
from heliostat.runtime.client import Client
from heliostat.runtime.reflector import Reflector
from heliostat.runtime.transport import Call, Chunks, Reply, Transport
from heliostat.runtime.watch import WatchSettings
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, eventually, small_server
from runtime.test_host import parent
from runtime.test_other_answers import Bytes


def status(code: int, reason: str, message: str) -> bytes:
    return (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"%b","reason":"%b","code":%d}'
        % (message.encode(), reason.encode(), code)
    )


def in_stream(body: bytes) -> tuple[bytes, ...]:
    return (b'{"type":"ERROR","object":%b}\n' % body,)


OLD_ETCD = (
    "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"
)
NO_GATE = "sendInitialEvents: Forbidden: it is forbidden for watch unless the WatchList feature gate is enabled"
NO_FIELD = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch"
REFUSALS: dict[str, Reply | tuple[bytes, ...]] = {
    "an old etcd": in_stream(status(500, "InternalError", OLD_ETCD)),
    "an old etcd, before the stream": Reply(500, status(500, "InternalError", OLD_ETCD)),
    "without the gate": Reply(422, status(422, "Invalid", NO_GATE)),
    "before 1.27": Reply(422, status(422, "Invalid", NO_FIELD)),
    "400": Reply(400, status(400, "BadRequest", "no")),
    "403": Reply(403, status(403, "Forbidden", "no")),
    "405": Reply(405, status(405, "MethodNotAllowed", "no")),
    "closed": (),
}


UNKNOWN_TO_OLD = ("sendInitialEvents", "resourceVersionMatch", "allowWatchBookmarks")


class WithoutStreams:
    """In front of the server: streaming lists are answered here."""

    def __init__(self, transport: Transport, refusal: Reply | tuple[bytes, ...] | None) -> None:
        self._transport = transport
        self._refusal = refusal
        self.streams = 0

    async def send(self, call: Call, seconds: float) -> Reply:
        return await self._transport.send(call, seconds)

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        if "sendInitialEvents" not in dict(call.query):
            return await self._transport.open(call, seconds)
        self.streams += 1
        if self._refusal is None:
            known = tuple((name, value) for name, value in call.query if name not in UNKNOWN_TO_OLD)
            return await self._transport.open(structs.replace(call, query=known), seconds)
        return self._refusal if isinstance(self._refusal, Reply) else Bytes(*self._refusal)

    async def close(self) -> None:
        await self._transport.close()


@pytest.mark.parametrize("refusal", list(REFUSALS.values()), ids=list(REFUSALS))
def test_the_view_is_there_at_once_and_follows(refusal: Reply | tuple[bytes, ...]) -> None:
    play(refusal, within=0.1)


def test_a_server_that_does_not_know_the_question_is_asked_for_pages_when_nothing_more_comes() -> None:
    """It shows what is there and goes on with what changes; nothing says where the list ends."""
    play(None, within=WatchSettings().first_list_seconds + 0.1)


def play(refusal: Reply | tuple[bytes, ...] | None, within: float) -> None:
    async def scenario() -> None:
        async with small_server() as server:
            await server.client.create(CONFIG_MAP, parent(0))
            transport = WithoutStreams(server.transport, refusal)
            cache: Cache[Object] = Cache(CachedKind(CONFIG_MAP, Object))
            reflector = Reflector(
                Client(transport, clock=asyncio.get_running_loop().time),
                cache,
                settings=WatchSettings(),
                chance=lambda: 0.5,
                on_problem=lambda _where, _error: None,
            )
            running = asyncio.create_task(reflector.run())
            await eventually(cache.synced.is_set, within)
            another = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}}
            await server.client.create(CONFIG_MAP, another)
            await eventually(lambda: len(cache) == 2, 1)
            assert cache.refused == ""
            await asyncio.sleep(600)
            assert transport.streams == 1
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run_virtual(scenario())
