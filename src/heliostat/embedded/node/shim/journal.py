"""What became of the containers of a Pod, line by line in a file: it outlives the node that asked, and the shim."""

import json
import os
import signal
from pathlib import Path
from typing import NamedTuple

from heliostat.embedded.node.shim.protocol import Message


class Run(NamedTuple):
    """One container: begun, and perhaps over."""

    id: str
    name: str
    started_at: float = 0.0
    finished_at: float = 0.0  # 0: it runs
    exit_code: int = 0
    signal: int = 0
    error: str = ""  # why it could not be started

    @property
    def is_over(self) -> bool:
        return self.finished_at > 0


class Journal:
    """The newest line of a container counts; a line that was torn by a crash is left out."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, run: Run) -> Message:
        message = run._asdict()
        os.write(self._file, json.dumps(message).encode() + b"\n")
        os.fdatasync(self._file)
        return message

    def close(self) -> None:
        os.close(self._file)


def read_runs(path: Path) -> dict[str, Run]:
    runs: dict[str, Run] = {}
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return runs
    for line in lines:
        try:
            run = Run(**json.loads(line))
        except (ValueError, TypeError):
            continue
        runs[run.id] = run
    return runs


def end_unfinished(path: Path, moment: float) -> None:
    """Their shim has died, and they with it: that is how they ended, once and for all."""
    unfinished = [run for run in read_runs(path).values() if not run.is_over]
    if not unfinished:
        return
    journal = Journal(path)
    try:
        for run in unfinished:
            journal.note(run._replace(finished_at=moment, exit_code=128 + signal.SIGKILL, signal=int(signal.SIGKILL)))
    finally:
        journal.close()
