"""The Go program that asks the API servers in the benchmarks: built once, run, and its figures read.

It is a program of its own so that the asking does not take the time that is measured.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct

from load.targets import Target

SOURCE = Path(__file__).with_name("client.go")


class Load(Struct, frozen=True):
    program: Path

    def run(self, target: Target, mode: str, path: str, *numbers: int) -> dict[str, Any]:
        """What the program measured; its refusal ends the benchmark."""
        command = [str(self.program), mode, target.url, path, *map(str, numbers)]
        done = subprocess.run(command, check=False, capture_output=True, env={**os.environ, "TOKEN": target.token})
        if done.returncode:
            raise SystemExit(f"{target.name}: {done.stderr.decode()}")
        figures: dict[str, Any] = msgspec.json.decode(done.stdout)
        return figures


@contextmanager
def built() -> Iterator[Load]:
    with TemporaryDirectory() as folder:
        program = Path(folder) / "client"
        subprocess.run(["go", "build", "-o", str(program), str(SOURCE)], check=True)
        yield Load(program)
