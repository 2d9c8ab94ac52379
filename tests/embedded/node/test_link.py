"""The link between API server and node, with a back end that answers as it is told: every way a request can end."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeAlias

import pytest
import uvloop

from heliostat.embedded.access.users import User
from heliostat.embedded.node.linking.link import ROOM
from heliostat.embedded.node.linking.link_client import NodeLink
from heliostat.embedded.node.linking.link_server import LinkServer
from heliostat.embedded.refusals import RefusedError, bad_request
from heliostat.embedded.server.messages import Answer, BrokenOffError, Request, Response, Stream, Upgrade, Wire
from heliostat.embedded.server.nodes.node_backend import (
    Duplex,
    Execution,
    Exited,
    Failed,
    LogOptions,
    Outcome,
    Proxied,
    Terminal,
    TerminalSize,
)

POD = {"metadata": {"name": "p", "uid": "u"}}
LOG = LogOptions(container="c")
PROXIED = Proxied(scheme="http", address="10.0.0.1", port=80, path="x")


class Lines:
    def __init__(self, lines: AsyncGenerator[bytes, None]) -> None:
        self._lines = lines

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._lines)

    async def aclose(self) -> None:
        await self._lines.aclose()


class Backend:
    """Does what the name of the container, or the path, says."""

    def __init__(self) -> None:
        self.running = 0
        self.cancelled = asyncio.Event()
        self.begun = asyncio.Event()

    async def is_reachable(self) -> bool:
        return True

    async def read_log(self, pod: dict[str, Any], options: LogOptions) -> Answer:
        if options.container == "refused":
            raise bad_request("it is waiting to start")
        return Stream(Lines(self._lines(options.container)), content_type="text/plain")

    async def _lines(self, name: str) -> AsyncGenerator[bytes, None]:
        yield b"one\n"
        self.begun.set()
        if name == "bug":
            raise ZeroDivisionError
        if name == "endless":
            await self._wait_for_ever()
        yield b"x" * 1_000_000

    async def execute(self, pod: dict[str, Any], execution: Execution, terminal: Terminal) -> Outcome:
        match execution.command[0]:
            case "fail":
                return Failed("no such command")
            case "bug":
                raise ZeroDivisionError
            case "sleep":
                await self._wait_for_ever()
            case "size":
                size = await terminal.read_size()
                assert size is not None
                await terminal.write_stdout(f"{size.height} {size.width}".encode())
        while data := await terminal.read_stdin():
            await terminal.write_stdout(data)
        await terminal.write_stderr(b"err")
        return Exited(3)

    async def attach(self, pod: dict[str, Any], execution: Execution, terminal: Terminal) -> Outcome:
        return Exited()

    async def forward(self, pod: dict[str, Any], port: int, stream: Duplex) -> Failed | None:
        if port == 9:
            return Failed("nobody listens")
        while data := await stream.read():
            await stream.write(data)
        return None

    async def proxy(self, proxied: Proxied, request: Request) -> Answer:
        async def shout(wire: Wire) -> None:
            while (data := await wire.receive()) is not None:
                await wire.send(data.upper())

        if proxied.path == "upgrade":
            return Upgrade(converse=shout, headers=(("Upgrade", "shouting"),))
        return Response(201, request.body + request.path.encode(), "text/x", headers=(("A", "b"),))

    async def proxy_node(self, node: dict[str, Any], path: str, request: Request) -> Answer:
        return Response(404, path.encode(), "text/plain")

    async def _wait_for_ever(self) -> None:
        self.running += 1
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.running -= 1
            self.cancelled.set()


class Client:
    def __init__(self, *says: bytes, size: TerminalSize | None = None) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self._says = [*says]
        self._sizes = [size]

    async def read_stdin(self) -> bytes:
        return self._says.pop(0) if self._says else b""

    async def write_stdout(self, data: bytes) -> None:
        self.out += data

    async def write_stderr(self, data: bytes) -> None:
        self.err += data

    async def read_size(self) -> TerminalSize | None:
        return self._sizes.pop(0) if self._sizes else None

    read, write = read_stdin, write_stdout

    async def receive(self) -> bytes | None:
        return await self.read_stdin() or None

    send = write_stdout


class Ends:
    def __init__(self, path: Path) -> None:
        self.backend = Backend()
        self.link = NodeLink(path)
        self.problems: list[str] = []
        self._server = LinkServer(self.backend, path, lambda what, error: self.problems.append(f"{what}: {error!r}"))
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._serving = asyncio.create_task(self._server.run())
        while not await self.link.is_reachable():
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)

    async def execute(self, client: Client, *command: str) -> Outcome:
        execution = Execution(container="c", command=command, stdin=True, stdout=True, stderr=True)
        return await self.link.execute(POD, execution, client)

    async def log(self, name: str) -> bytes:
        answer = await self.link.read_log(POD, LogOptions(container=name))
        assert isinstance(answer, Stream)
        async with aclosing(answer.chunks) as chunks:
            return b"".join([chunk async for chunk in chunks])


@asynccontextmanager
async def both_ends(path: Path) -> AsyncIterator[Ends]:
    ends = Ends(path)
    await ends.start()
    try:
        async with asyncio.timeout(60):
            yield ends
    finally:
        await ends.stop()


Scene: TypeAlias = Callable[[Ends], Coroutine[Any, Any, None]]
Play: TypeAlias = Callable[..., None]


@pytest.fixture(params=(asyncio.run, uvloop.run), ids=("asyncio", "uvloop"))
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Play:
    """Both loops: the API server runs on one, and the node may on either."""

    def play_scene(scene: Scene, problems: int = 0, folder: Path = tmp_path) -> None:
        async def run() -> None:
            async with both_ends(folder / "node.sock") as ends:
                await scene(ends)
            assert len(ends.problems) == problems, ends.problems

        request.param(run())

    return play_scene


def test_a_command_has_its_streams_and_its_end(play: Play) -> None:
    async def scene(ends: Ends) -> None:
        client = Client(b"hello", b"x" * (5 * ROOM))
        assert await ends.execute(client, "cat") == Exited(3)
        assert client.out == b"hello" + b"x" * (5 * ROOM)
        assert client.err == b"err"
        assert await ends.execute(Client(), "fail") == Failed("no such command")
        sized = Client(size=TerminalSize(80, 24))
        assert await ends.execute(sized, "size") == Exited(3)
        assert sized.out == b"24 80"

    play(scene)


def test_a_client_that_goes_ends_its_command_also_while_its_input_waits(play: Play) -> None:
    async def scene(ends: Ends) -> None:
        running = asyncio.create_task(ends.execute(Client(*[bytes(ROOM)] * 8), "sleep"))
        await ends.backend.begun.wait()
        running.cancel()
        await ends.backend.cancelled.wait()
        assert ends.backend.running == 0

    play(scene)


def test_who_leaves_a_log_ends_its_reading(play: Play) -> None:
    async def scene(ends: Ends) -> None:
        answer = await ends.link.read_log(POD, LogOptions(container="endless", follow=True))
        assert isinstance(answer, Stream)
        assert await anext(answer.chunks) == b"one\n"
        await ends.backend.begun.wait()
        await answer.chunks.aclose()
        await ends.backend.cancelled.wait()

    play(scene)


def test_a_refusal_is_told_as_it_was_meant(play: Play) -> None:
    async def scene(ends: Ends) -> None:
        with pytest.raises(RefusedError) as refused:
            await ends.link.read_log(POD, LogOptions(container="refused"))
        assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
        assert refused.value.message == "it is waiting to start"

    play(scene)


def test_a_bug_is_reported_by_the_node_and_ends_one_request_alone(play: Play) -> None:
    async def scene(ends: Ends) -> None:
        outcome = await ends.execute(Client(), "bug")
        assert outcome == Failed("the node met a bug; its log tells more")
        with pytest.raises(BrokenOffError):
            await ends.log("bug")
        assert await ends.log("fine") == b"one\n" + b"x" * 1_000_000

    play(scene, problems=2)


def test_a_node_that_goes_in_the_middle_is_told(play: Play) -> None:
    async def scene(ends: Ends) -> None:
        running = asyncio.create_task(ends.execute(Client(), "sleep"))
        await ends.backend.begun.wait()
        await ends.stop()
        assert await running == Failed("the node went away in the middle")
        assert not await ends.link.is_reachable()
        with pytest.raises(RefusedError, match="the node does not answer"):
            await ends.link.read_log(POD, LOG)

    play(scene)


def test_connections_requests_and_upgrades_pass(play: Play) -> None:
    async def scene(ends: Ends) -> None:
        client = Client(b"a" * 1_000_000)
        assert await ends.link.forward(POD, 80, client) is None
        assert client.out == b"a" * 1_000_000
        assert await ends.link.forward(POD, 9, Client()) == Failed("nobody listens")
        request = Request(method="POST", path="/x", user=User("u"), body=b"\x00\xff")
        answer = await ends.link.proxy(PROXIED, request)
        assert answer == Response(201, b"\x00\xff/x", "text/x", headers=(("A", "b"),))
        assert await ends.link.proxy_node({}, "healthz", request) == Response(404, b"healthz", "text/plain")
        upgrade = await ends.link.proxy(Proxied(scheme="http", address="a", port=1, path="upgrade"), request)
        assert isinstance(upgrade, Upgrade)
        wire = Client(b"one", b"two")
        await upgrade.converse(wire)
        assert wire.out == b"ONETWO"

    play(scene)


def test_the_socket_is_for_this_user_alone_and_goes_with_the_node(play: Play, tmp_path: Path) -> None:
    place = tmp_path / ("d" * 150)  # longer than the name of a socket may be
    place.mkdir()

    async def scene(ends: Ends) -> None:
        assert (place / "node.sock").stat().st_mode & 0o777 == 0o600
        await ends.stop()
        assert not (place / "node.sock").exists()

    play(scene, folder=place)
