"""Programs that scripts expect of every image, for machines that lack them: in the last directory of each PATH.

A machine that has the real one uses it, because its directories come first. A few images differ from the machine's own
program of that name: what starts it as they do lies in a directory of its own, which those images put first. And some
are nothing but one program at a place of its own: a file there starts what the table of images names for it.
"""

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from heliostat.embedded.node import programs
from heliostat.embedded.node.shim.protocol import Mount

DIRECTORY = "/usr/local/lib/heliostat-programs"  # in containers
_PROGRAMS = ("wget",)
REDIS = f"{DIRECTORY}/redis"  # for PATH of the image


def write_stand_ins(directory: Path) -> None:
    """What containers get to see; written anew whenever the node begins, as our interpreter may have moved."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o755)
    interpreter = shlex.quote(str(Path(sys.executable).resolve()))
    source = Path(programs.__file__).parent
    for name in _PROGRAMS:
        (directory / f"{name}.py").write_bytes((source / f"{name}.py").read_bytes())
        start = f'#!/bin/sh\nexec {interpreter} -I -S "${{0%/*}}/{name}.py" "$@"\n'
        _write_program(directory / name, start)
    _write_program(directory / "redis" / "redis-server", (source / "redis-server.sh").read_text())


def _write_program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.parent.chmod(0o755)
    path.write_text(text)
    path.chmod(0o755)


def mount_stand_ins(directory: Path) -> Mount:
    return Mount(str(directory), DIRECTORY, is_read_only=True)


def add_to_path(path: str) -> str:
    return f"{path}:{DIRECTORY}" if path else DIRECTORY


def write_programs(wanted: Mapping[str, tuple[str, ...]], directory: Path) -> Iterator[Mount]:
    """Each file that a container is to find, and where: the words that it starts get its arguments."""
    for number, (path, words) in enumerate(wanted.items()):
        script = directory / str(number)
        script.parent.mkdir(parents=True, exist_ok=True)
        _write_program(script, f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        yield Mount(str(script), path, is_read_only=True)
