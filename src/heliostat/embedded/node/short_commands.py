"""A command that the node itself runs in a container: limited in time, with the beginning of what it says."""

import asyncio
import os
from collections.abc import Sequence

from msgspec import Struct

from heliostat.embedded.node.isolating.sandbox import Sandbox

MOST_OUTPUT = 10 * 1024
_CHUNK = 64 * 1024


class CommandResult(Struct, frozen=True):
    exit_code: int
    output: str  # of both streams
    why: str = ""  # it could not be started
    is_late: bool = False  # it took too long and was ended


async def run_short_command(sandbox: Sandbox, id_: str, argv: Sequence[str], seconds: float) -> CommandResult:
    """Raises SandboxError when the container cannot be asked: it is over, or its sandbox is."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(read_end, False)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    output = _Output(read_end)
    try:
        executed = await sandbox.execute(id_, argv, (nothing, write_end, write_end), seconds=seconds)
        output.read()  # what came last; whoever still holds the other end is not waited for
    finally:
        output.close()
        for descriptor in (write_end, nothing):
            os.close(descriptor)
    return CommandResult(executed.exit_code, output.text(), executed.why, executed.is_late)


class _Output:
    """Read for as long as the command writes, so that it never waits for us; only the beginning is kept."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._data = b""
        asyncio.get_running_loop().add_reader(descriptor, self.read)

    def read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        self._data += data[: MOST_OUTPUT - len(self._data)]

    def text(self) -> str:
        return self._data.decode(errors="replace")

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
