"""Bodies through the API server's proxy, HTTPS and the link to the node: streamed both ways, whatever their size."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from embedded.node_connections.running import POD, PODS
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.node.backend import LocalBackend
from heliostat.embedded.node.linking.link_client import NodeLink
from heliostat.embedded.node.linking.link_server import LinkServer
from heliostat.embedded.node.network.namespaces import connect_from_host
from heliostat.embedded.server.limits import LARGEST_BODY, Limits
from heliostat.embedded.server.messages import Request
from heliostat.embedded.serving import EmbeddedServer, ServerOptions
from heliostat.kube.hidden import Hidden
from heliostat.kube.jsontree import encode_json
from heliostat.runtime.metrics import Registry

pytestmark = pytest.mark.slow

ADMIN = User("admin", groups=(MASTERS,))
TOKEN = "a-token-of-the-test"
PIECE = bytes(64 * 1024)
PIECES = 1024
SIZE = PIECES * len(PIECE)  # 64 MB
DEADLINE = 60.0
ENDED, BROKEN_OFF = "ended", "broken off"


class PodServer:
    """What listens in the Pod. It reads when it is allowed to, and notes what came and how that ended."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.taken = 0
        self.end = ""
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.says = b""  # at once, instead of reading

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            if self.says:
                writer.write(self.says)
                await writer.drain()
            await self.may_read.wait()
            await self._read_body(reader)
            if not self.says and self.end == ENDED:
                await self._answer(writer)
        writer.close()

    async def _read_body(self, reader: asyncio.StreamReader) -> None:
        try:
            if "transfer-encoding: chunked" in self.heads[-1]:
                while size := int(await reader.readuntil(b"\r\n"), 16):
                    self.taken += len(await reader.readexactly(size + 2)) - 2
            elif "content-length: " in self.heads[-1]:
                left = int(self.heads[-1].split("content-length: ")[1].split("\r\n")[0])
                while left:
                    piece = await reader.readexactly(min(left, len(PIECE)))
                    left -= len(piece)
                    self.taken += len(piece)
            self.end = ENDED
        except (asyncio.IncompleteReadError, ConnectionError):
            self.end = BROKEN_OFF

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        size = SIZE if "GET /much" in self.heads[-1] else 0
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // len(PIECE)):
            writer.write(PIECE)
            await writer.drain()


class HostNetwork:
    def __init__(self, port: int) -> None:
        self._port = port

    async def dial(self, _address: str, _port: int) -> Any:
        return await connect_from_host("127.0.0.1", self._port)


class Scene:
    """``sent`` counts the bytes that were taken from the client."""

    def __init__(self, pod: PodServer, session: aiohttp.ClientSession, base: str) -> None:
        self.pod = pod
        self.session = session
        self.base = base
        self.sent = 0

    async def body(self, pieces: int = PIECES) -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield PIECE
            self.sent += len(PIECE)

    @asynccontextmanager
    async def put(self, body: Any, **headers: str) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self.session.put(f"{self.base}/x", data=body, headers=headers, ssl=False) as answer:
            yield answer


@asynccontextmanager
async def scene(folder: Path, limits: Limits) -> AsyncIterator[Scene]:
    pod, bugs = PodServer(), cast("list[BaseException]", [])
    listening = await asyncio.start_server(pod.serve, "127.0.0.1", 0)
    network = HostNetwork(listening.sockets[0].getsockname()[1])
    backend = LocalBackend(cast("Any", None), cast("Any", network), Registry())
    node = LinkServer(backend, folder / "node.sock", lambda _what, error: bugs.append(error))
    serving = asyncio.create_task(node.run())
    options = ServerOptions(limits=limits, tokens=((Hidden(TOKEN), ADMIN),))
    link = NodeLink(folder / "node.sock")
    while not await link.is_reachable():
        await asyncio.sleep(0.01)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        EmbeddedServer(options, on_bug=bugs.append, node_backend=link) as server,
        aiohttp.ClientSession(headers=headers) as session,
    ):
        await make_pod(server)
        yield Scene(pod, session, f"{server.address}{PODS}/p:80/proxy")
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    listening.close()
    assert bugs == []


async def make_pod(server: EmbeddedServer) -> None:
    status = {"status": {"phase": "Running", "podIP": "10.0.0.7"}}
    merge = {"content-type": "application/merge-patch+json"}
    for request in (
        Request(method="POST", path=PODS, user=ADMIN, body=encode_json(POD)),
        Request(method="PATCH", path=f"{PODS}/p/status", user=ADMIN, headers=merge, body=encode_json(status)),
    ):
        assert (await server.core.handle(request)).status < 300


def play(folder: Path, test: Callable[[Scene], Awaitable[None]], limits: Limits | None = None) -> None:
    async def run() -> None:
        async with asyncio.timeout(DEADLINE), scene(folder, limits or Limits()) as made:
            await test(made)

    asyncio.run(run())


async def wait_until(test: Callable[[], bool]) -> None:
    while not test():
        await asyncio.sleep(0.005)


async def wait_until_still(count: Callable[[], int]) -> None:
    """Until nothing was added for a while."""
    seen = -1
    while seen != (now := count()):
        seen = now
        await asyncio.sleep(0.3)


class PeakMemory:
    """How many bytes this process has grown by at most since."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self._before = self._read("VmRSS")

    def grown(self) -> int:
        return self._read("VmHWM") - self._before

    def _read(self, name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


@pytest.mark.parametrize("has_length", [True, False])
def test_tens_of_megabytes_are_uploaded_in_bounded_memory(tmp_path: Path, *, has_length: bool) -> None:
    async def test(made: Scene) -> None:
        peak = PeakMemory()
        headers = {"Content-Length": str(SIZE)} if has_length else {}
        async with made.put(made.body(), **headers) as answer:
            assert answer.status == 200
        assert (made.pod.taken, made.pod.end) == (SIZE, ENDED)
        assert ("transfer-encoding: chunked" in made.pod.heads[0]) is not has_length
        assert peak.grown() < SIZE // 3

    play(tmp_path, test)


def test_tens_of_megabytes_are_downloaded_in_bounded_memory(tmp_path: Path) -> None:
    async def test(made: Scene) -> None:
        peak, came = PeakMemory(), 0
        async with made.session.get(f"{made.base}/much", ssl=False) as answer:
            async for piece in answer.content.iter_any():
                came += len(piece)
        assert came == SIZE
        assert peak.grown() < SIZE // 3

    play(tmp_path, test)


def test_a_pod_that_does_not_read_holds_its_client_back(tmp_path: Path) -> None:
    async def test(made: Scene) -> None:
        made.pod.may_read.clear()
        peak = PeakMemory()

        async def put() -> int:
            async with made.put(made.body(4 * PIECES)) as answer:
                return answer.status

        putting = asyncio.create_task(put())
        await wait_until(lambda: bool(made.pod.heads))
        await wait_until_still(lambda: made.sent)
        assert made.sent < 2 * SIZE, "the rest must wait with the client"
        assert peak.grown() < SIZE // 3
        made.pod.may_read.set()
        assert await putting == 200
        assert made.pod.taken == 4 * SIZE

    play(tmp_path, test)


def test_a_client_that_leaves_in_the_middle_is_not_taken_for_the_end(tmp_path: Path) -> None:
    async def test(made: Scene) -> None:
        async def broken() -> AsyncIterator[bytes]:
            async for piece in made.body(16):
                yield piece
            raise ZeroDivisionError

        with pytest.raises((aiohttp.ClientError, ZeroDivisionError)):
            async with made.put(broken()):
                pass
        await wait_until(lambda: bool(made.pod.end))
        assert made.pod.end == BROKEN_OFF

    play(tmp_path, test)


def test_an_answer_before_the_end_of_the_body_reaches_the_client(tmp_path: Path) -> None:
    async def test(made: Scene) -> None:
        made.pod.says = b"HTTP/1.1 413 Too Much\r\nContent-Length: 4\r\n\r\nmuch"
        async with made.put(made.body(16)) as answer:
            assert (answer.status, await answer.read()) == (413, b"much")

    play(tmp_path, test)


def test_a_body_that_does_not_come_is_refused(tmp_path: Path) -> None:
    async def test(made: Scene) -> None:
        async def stuck() -> AsyncIterator[bytes]:
            yield PIECE
            await asyncio.sleep(DEADLINE)

        async with made.put(stuck()) as answer:
            assert answer.status == 408
        await wait_until(lambda: bool(made.pod.end))
        assert made.pod.end == BROKEN_OFF

    play(tmp_path, test, Limits(body_seconds=0.2))


def test_a_client_that_asks_first_is_told_to_go_on(tmp_path: Path) -> None:
    async def test(made: Scene) -> None:
        async with made.session.put(f"{made.base}/x", data=b"body", expect100=True, ssl=False) as answer:
            assert answer.status == 200
        assert made.pod.taken == 4

    play(tmp_path, test)


def test_what_the_server_itself_reads_keeps_its_largest_size(tmp_path: Path) -> None:
    async def test(made: Scene) -> None:
        url = made.base.removesuffix("/p:80/proxy")
        async with made.session.post(url, data=made.body(LARGEST_BODY // len(PIECE) + 1), ssl=False) as answer:
            assert answer.status == 413
        assert made.pod.heads == []

    play(tmp_path, test)
