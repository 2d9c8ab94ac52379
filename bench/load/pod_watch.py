"""Makes Pods on a server that a kubeconfig names, and sees in a watch how far each of them has come, and when."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.transport import Call, Reply

PODS = "/api/v1/namespaces/default/pods"
LIMIT_SECONDS = 300.0
_GONE = "gone"


class _Metadata(Struct, frozen=True):
    name: str


class _Status(Struct, frozen=True):
    phase: str = ""


class _Pod(Struct, frozen=True):
    metadata: _Metadata
    status: _Status = _Status()


class _Line(Struct, frozen=True):
    type: str
    object: _Pod


class PodWatch:
    def __init__(self, transport: HttpsTransport) -> None:
        self.seen: dict[tuple[str, str], float] = {}  # when a Pod, by its name, was first seen in a phase
        self._transport = transport
        self._changed = asyncio.Event()
        self._failure: BaseException | None = None

    async def follow(self, is_watching: asyncio.Event) -> None:
        """From now on; a watch that breaks ends the benchmark."""
        page = msgspec.json.decode((await self._send(Call(method="GET", path=PODS))).body)
        since = page["metadata"]["resourceVersion"]
        call = Call(method="GET", path=PODS, query=(("watch", "1"), ("resourceVersion", since)))
        chunks = await self._transport.open(call, LIMIT_SECONDS)
        if isinstance(chunks, Reply):
            raise SystemExit(f"{call}: {chunks.status} {chunks.body.decode()}")
        is_watching.set()
        rest, decoder = b"", msgspec.json.Decoder(_Line)
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(decoder.decode(line))
            self._changed.set()

    def note_end(self, following: "asyncio.Task[None]") -> None:
        if not following.cancelled():
            self._failure = following.exception() or EOFError("the server has ended it")
            self._changed.set()

    async def make(self, trees: Iterable[JsonObject], phase: str) -> dict[str, float]:
        """Seconds from the first request until each is seen in the phase, by name; all are asked for at once."""
        bodies = {tree["metadata"]["name"]: msgspec.json.encode(tree) for tree in trees}
        begun = time.perf_counter()
        calls = [Call(method="POST", path=PODS, body=body) for body in bodies.values()]
        await asyncio.gather(*map(self._send, calls))
        await self._until(lambda: all((name, phase) in self.seen for name in bodies), f"all {phase}")
        return {name: self.seen[name, phase] - begun for name in bodies}

    async def remove(self, names: Iterable[str]) -> None:
        wanted = list(names)
        await asyncio.gather(*(self._send(Call(method="DELETE", path=f"{PODS}/{name}")) for name in wanted))
        await self._until(lambda: all((name, _GONE) in self.seen for name in wanted), "all gone")

    def _take(self, line: _Line) -> None:
        state = _GONE if line.type == "DELETED" else line.object.status.phase
        self.seen.setdefault((line.object.metadata.name, state), time.perf_counter())

    async def _send(self, call: Call) -> Reply:
        reply = await self._transport.send(call, LIMIT_SECONDS)
        if reply.status >= 300:
            raise SystemExit(f"{call}: {reply.status} {reply.body.decode()[:500]}")
        return reply

    async def _until(self, test: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                while not test():
                    self._changed.clear()
                    await self._changed.wait()
                    if self._failure is not None:
                        raise SystemExit(f"the watch of Pods failed: {self._failure!r}")
        except TimeoutError:
            raise SystemExit(f"Pods were not {what} after {LIMIT_SECONDS:.0f} s") from None


@asynccontextmanager
async def watched(kubeconfig: Path) -> AsyncIterator[PodWatch]:
    transport = HttpsTransport(find_connection(os.environ, kubeconfig, ""), "bench")
    watch, is_watching = PodWatch(transport), asyncio.Event()
    following = asyncio.create_task(watch.follow(is_watching))
    following.add_done_callback(watch.note_end)
    try:
        await is_watching.wait()
        yield watch
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await transport.close()
