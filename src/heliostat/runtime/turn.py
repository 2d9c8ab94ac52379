"""Leader election among processes of one machine, by a file lock: its holder works, the others stand by, warm.

Rules: the kernel takes the lock back the moment its holder has ended, however that happens, so nobody waits for a lease
to expire; the file tells the holder's pid and outlives it. What the dead one sent last may still land: whoever begins
waits that out (``process.py``). It says nothing about other machines: a lease does.
"""

import asyncio
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

LOOK_SECONDS = 0.02


class TurnFileError(Exception):
    """The file cannot be used."""


class Turn:
    """``file`` is open for reading and writing; the turn, once it is ours, ends when the file is closed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    async def wait(self) -> None:
        # A blocking call would be told at once, but could not be given up when the process is told to stop.
        while not self._take():
            await asyncio.sleep(LOOK_SECONDS)
        self._tell_who()

    def _take(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _tell_who(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"{os.getpid()}\n".encode())
        self._file.flush()


@contextmanager
def open_turn(path: Path) -> Iterator[Turn]:
    """The file is made if it is missing; raises TurnFileError for one that cannot be used."""
    try:
        file = path.open("a+b")
    except OSError as error:
        why = error.strerror or error
        raise TurnFileError(f"{path} cannot be used as a lock: {why}; name a file that can be written") from None
    with file:
        yield Turn(file)
