"""The node's side of a Pod's sandbox: start its shim, find it again, ask it to run things, hear how they end.

A sandbox is known by its directory. The shim in it does not depend on this process: a node that comes back connects
to the socket, reads in the journal what it missed, and goes on.
"""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from heliostat.embedded.node.isolating.shim_template import ShimTemplate
from heliostat.embedded.node.shim import protocol
from heliostat.embedded.node.shim.journal import Run, end_unfinished, read_runs
from heliostat.embedded.node.shim.protocol import Message, Order

_PID = "shim.pid"


class SandboxError(Exception):
    """The sandbox cannot do what was asked; the text says why and, where we can, what to do."""


class SandboxSpec(Struct, frozen=True, kw_only=True):
    directory: Path  # there and empty, or left by a sandbox that is gone
    hostname: str
    host_network: bool = False
    is_plain: bool = False  # in no namespaces at all
    network: Path | None = None  # a namespace to live in; None: one of its own


class Executed(Struct, frozen=True):
    exit_code: int
    why: str = ""  # it could not be started
    is_late: bool = False  # it took too long and was ended


class Sandbox:
    """One connection to a shim. ``pid`` is the shim's in the host's view, and /proc/PID/ns has its namespaces."""

    def __init__(self, directory: Path, pid: int, connection: socket.socket) -> None:
        self.directory = directory
        self.pid = pid
        self.ended = asyncio.Event()  # the shim is gone, and everything in the Pod with it
        self._socket = connection
        self._runs: dict[str, Run] = {}
        self._requests: dict[int, asyncio.Future[Message]] = {}
        self._number = 0
        self._listeners: list[Callable[[Run], None]] = []
        self._reading = asyncio.create_task(self._read(), name=f"sandbox {directory.name}")

    def runs(self) -> dict[str, Run]:
        """Every container that was ever started here, by its id."""
        return dict(self._runs)

    def on_change(self, listener: Callable[[Run], None]) -> None:
        self._listeners.append(listener)

    async def start(self, order: Order) -> None:
        work = Path(order.work)
        work.mkdir(parents=True, exist_ok=True)
        path = work / "order.json"
        protocol.write_order(path, order)
        await self._ask(protocol.START, order=str(path))

    async def signal(self, id_: str, number: int) -> None:
        await self._ask(protocol.SIGNAL, id=id_, number=number)

    async def execute(
        self,
        id_: str,
        argv: Sequence[str],
        streams: tuple[int, int, int],
        *,
        environment: dict[str, str] | None = None,
        has_terminal: bool = False,
        seconds: float = 0.0,
    ) -> Executed:
        """Run a command in a container to its end, or for so many seconds. Cancelled, nothing of it goes on.

        The caller may close its copies of the streams once this waits.
        """
        self._number += 1
        number = self._number
        try:
            answer = await self._ask_as(
                number,
                protocol.EXECUTE,
                streams,
                id=id_,
                argv=list(argv),
                environment=environment or {},
                has_terminal=has_terminal,
                seconds=seconds,
            )
        except asyncio.CancelledError:
            with contextlib.suppress(SandboxError):
                await self._ask(protocol.CANCEL, execution=number)
            raise
        return Executed(answer["exit_code"], answer.get("why", ""), answer.get("is_late", False))

    async def attach(self, id_: str, streams: Mapping[str, int]) -> None:
        """Connect streams, by their names, to a container that runs; the caller closes its copies.

        Those that it writes to end with it. Somebody has to read them: while nobody does, the container waits.
        """
        await self._ask(protocol.ATTACH, tuple(streams.values()), id=id_, streams=list(streams))

    async def resize(self, id_: str, rows: int, columns: int) -> None:
        """The window of a container that has a terminal."""
        await self._ask(protocol.RESIZE, id=id_, rows=rows, columns=columns)

    async def list_first_processes(self) -> dict[str, int]:
        """Of the containers that run, by their ids; PIDs as the shim sees them."""
        answer = await self._ask(protocol.FIRST_PROCESSES)
        found: dict[str, int] = answer.get("processes", {})  # a shim of an earlier version does not tell
        return found

    async def stop(self) -> None:
        """End everything in the Pod, now."""
        is_plain = (self.directory / protocol.PLAIN).exists()  # the kernel ends nobody with it
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM if is_plain else signal.SIGKILL)
        await self.ended.wait()

    async def close(self) -> None:
        """Let go of it; the Pod goes on."""
        self._reading.cancel()
        try:
            await asyncio.gather(self._reading, return_exceptions=True)
        finally:
            self._socket.close()

    async def listen(self) -> None:
        """From here on changes are heard; what happened before is read from the journal."""
        await self._ask(protocol.LISTEN)
        for run in read_runs(self.directory / protocol.JOURNAL).values():
            self._take_run(run)

    async def _ask(self, what: str, descriptors: Sequence[int] = (), **content: Any) -> Message:
        self._number += 1
        return await self._ask_as(self._number, what, descriptors, **content)

    async def _ask_as(self, number: int, what: str, descriptors: Sequence[int], /, **content: Any) -> Message:
        if self.ended.is_set():
            raise SandboxError("the sandbox of the Pod is gone")
        data = protocol.encode({"request": number, "do": what, **content})
        if len(data) > protocol.LARGEST:
            raise SandboxError(f"{what}: a command line of {len(data)} bytes is too long; use at most 60 kB")
        answer = self._requests[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send(data, descriptors)
            message: Message = await answer
        finally:
            del self._requests[number]
        if "error" in message:
            raise SandboxError(message["error"])
        return message

    async def _send(self, data: bytes, descriptors: Sequence[int]) -> None:
        while True:
            try:
                socket.send_fds(self._socket, [data], list(descriptors))
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError as error:
                raise SandboxError(f"the shim of the Pod does not answer: {error}") from None
            else:
                return

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while data := await loop.sock_recv(self._socket, protocol.LARGEST):
                self._take(protocol.decode(data))
        except OSError:
            pass
        self._end()

    def _end(self) -> None:
        self.ended.set()
        for request in self._requests.values():
            if not request.done():
                request.set_result({"error": "the sandbox of the Pod ended"})

    def _take(self, message: Message) -> None:
        if "run" in message:
            self._take_run(Run(**message["run"]))
            return
        request = self._requests.get(message["answers"])
        if request is not None and not request.done():
            request.set_result(message)

    def _take_run(self, run: Run) -> None:
        known = self._runs.get(run.id)
        if known == run or (known is not None and known.is_over):
            return
        self._runs[run.id] = run
        for listener in self._listeners:
            listener(run)


async def start_sandbox(spec: SandboxSpec, template: ShimTemplate | None = None) -> Sandbox:
    """A new sandbox in this directory; raises SandboxError with what the system refused.

    Who starts many keeps a template for them, which saves a new interpreter for each.
    """
    if template is None:
        template = ShimTemplate()
        try:
            return await start_sandbox(spec, template)
        finally:
            await template.close()
    (spec.directory / protocol.SOCKET).unlink(missing_ok=True)
    if spec.is_plain:
        (spec.directory / protocol.PLAIN).touch()
    pid = await _start_shim(spec, template)
    note_shim(spec.directory, pid)
    return await _connect(spec.directory, pid)


async def find_sandbox(directory: Path) -> Sandbox | None:
    """The sandbox that an earlier life of the node has started here, if it is still there."""
    pid = find_shim(directory)
    if pid is None:
        return None
    try:
        return await _connect(directory, pid)
    except (OSError, SandboxError):
        return None


def note_shim(directory: Path, pid: int) -> None:
    (directory / _PID).write_text(f"{pid} {_birth_of(pid)}")


def find_shim(directory: Path) -> int | None:
    """Its PID, while it lives."""
    try:
        pid, birth = (directory / _PID).read_text().split()
    except (OSError, ValueError):
        return None
    return int(pid) if _birth_of(int(pid)) == birth else None  # another process may have its number now


def past_runs(directory: Path) -> dict[str, Run]:
    """What the journal tells of a sandbox that is gone."""
    return read_runs(directory / protocol.JOURNAL)


def note_death(directory: Path) -> None:
    """The shim in there is gone, and whatever it ran: the journal tells it from now on."""
    end_unfinished(directory / protocol.JOURNAL, time.time())


async def _connect(directory: Path, pid: int) -> Sandbox:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    place = os.open(directory, os.O_PATH | os.O_CLOEXEC)  # a socket's path may not be long
    try:
        connection.connect(f"/proc/self/fd/{place}/{protocol.SOCKET}")
    except OSError:
        connection.close()
        raise
    finally:
        os.close(place)
    connection.setblocking(False)
    sandbox = Sandbox(directory, pid, connection)
    try:
        await sandbox.listen()
    except BaseException:  # cancelled, too: nobody else knows this connection
        await sandbox.close()
        raise
    return sandbox


def _birth_of(pid: int) -> str:
    """When the process began, in clock ticks since the machine did: with its PID that names it for good."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


async def _start_shim(spec: SandboxSpec, template: ShimTemplate) -> int:
    """The shim's PID, once it listens."""
    told, ready = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    errors = os.open(spec.directory / "shim.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
    wish = {
        "directory": str(spec.directory),
        "hostname": spec.hostname,
        "host_network": spec.host_network,
        "network": str(spec.network or ""),
        "is_plain": spec.is_plain,
    }
    with told:
        told.setblocking(False)
        try:
            template.request(wish, (ready.fileno(), errors))
        except OSError as error:
            raise SandboxError(f"the sandbox could not be made: {error}") from None
        finally:
            ready.close()
            os.close(errors)
        return await _hear_ready(told)


async def _hear_ready(told: socket.socket) -> int:
    """The PID is told by the shim's parent and the rest by the shim: either may come first."""
    loop = asyncio.get_running_loop()
    text = b""
    while data := await loop.sock_recv(told, 4096):
        text += data
        if b"ready\n" in text and b"pid " in text:
            break
    heard = dict(line.partition(" ")[::2] for line in text.decode(errors="replace").splitlines())
    if "ready" in heard and "pid" in heard:
        return int(heard["pid"])
    if "failed" in heard:
        raise SandboxError(f"the sandbox could not be made: {heard['failed']}")
    raise SandboxError("the sandbox could not be made: its first process ended without a word; see shim.log beside it")
