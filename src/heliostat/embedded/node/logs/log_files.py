"""The files of one container's log, read as one text: from the beginning or the last lines, to the end or onwards.

    <attempt>.log.1  what was there before the file grew too large
    <attempt>.log    what is written now

Rules: a reader keeps its file open, so that nothing is lost when it is replaced; one that follows ends when the
container is over and all of it has been read.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from io import FileIO
from pathlib import Path
from typing import Self

from heliostat.embedded.node.logs.log_lines import LogWriter

_CHUNK = 128 * 1024
_LOOK_SECONDS = 0.1  # between looks for more; only while somebody follows


class LogFiles:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: list[FileIO] = []  # those still to be read, the oldest first
        self._rest = b""
        self.look_for_more()

    def close(self) -> None:
        for file in self._files:
            file.close()

    def skip_to_last(self, lines: int) -> None:
        """Only so many lines, from all files, are left to be read."""
        for index in reversed(range(len(self._files))):
            missing = _seek_last(self._files[index], lines)
            if missing <= 0:
                for earlier in self._files[:index]:
                    earlier.seek(0, os.SEEK_END)
                return
            lines = missing

    def read(self) -> list[bytes] | None:
        """The next whole lines; None when there are none now."""
        while self._files:
            data = self._files[0].read(_CHUNK)
            if data:
                *lines, self._rest = (self._rest + data).split(b"\n")
                return lines
            if len(self._files) == 1:
                break
            self._files.pop(0).close()
        return None

    def look_for_more(self) -> bool:
        """Whether there is a file that came since; what is left of the older ones comes first."""
        seen = {_identity(self._files[-1])} if self._files else set()
        fresh: list[FileIO] = []
        for path in (self._path, Path(f"{self._path}.1")):  # the newer first: it may be replaced in between
            file = _open(path)
            if file is None:
                continue
            if _identity(file) in seen:
                file.close()
                break
            seen.add(_identity(file))
            fresh.insert(0, file)
        self._files += fresh
        return bool(fresh)


class LogChunks:
    """Pieces for a client. ``is_over`` tells whether the container is."""

    def __init__(self, files: LogFiles, writer: LogWriter, is_over: Callable[[], bool], *, follows: bool) -> None:
        self._files = files
        self._pieces = _read(files, writer, is_over, follows=follows)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        await self._pieces.aclose()
        self._files.close()


async def _read(
    files: LogFiles, writer: LogWriter, is_over: Callable[[], bool], *, follows: bool
) -> AsyncGenerator[bytes, None]:
    while not writer.is_full:
        was_over = is_over()  # asked before reading: what it wrote last is in the file by then
        lines = files.read()
        if lines is not None:
            if text := writer.write(lines):
                yield text
        elif files.look_for_more():
            continue
        elif not follows or was_over:
            return
        else:
            await asyncio.sleep(_LOOK_SECONDS)


def _identity(file: FileIO) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino


def _open(path: Path) -> FileIO | None:
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        return None


def _seek_last(file: FileIO, lines: int) -> int:
    """Go to where the last lines begin; how many of them the file does not have."""
    position = file.seek(0, os.SEEK_END)
    if lines <= 0:
        return 0
    wanted = lines + 1  # the end of the line before them
    while position:
        size = min(_CHUNK, position)
        position -= size
        file.seek(position)
        block = file.read(size)
        for index in _line_ends(block):
            wanted -= 1
            if not wanted:
                file.seek(position + index + 1)
                return 0
    file.seek(0)
    return wanted - 1


def _line_ends(block: bytes) -> list[int]:
    """From the last to the first."""
    found, end = [], len(block)
    while (end := block.rfind(b"\n", 0, end)) >= 0:
        found.append(end)
    return found
