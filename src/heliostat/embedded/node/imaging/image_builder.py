"""Builds Python environments with uv, each in one piece: it is there and complete, or it is not there.

    <place>.lock          held while somebody builds, also by a uv whose starter has died
    <place>.building-*    the environment on its way; renamed to <place> at the end

Rules: who comes second waits for the first and finds its work; what a crash has left is removed by the next. uv takes
an interpreter that the machine has and downloads none. What it says is passed on line by line.
"""

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from heliostat.embedded.node.imaging.image_environments import BuildOrder, is_built, own_python

_POLL_SECONDS = 0.2
_KEPT_LINES = 60
_LONGEST_REASON = 700
_NO_PROGRESS = ("Using ", "Creating ", "Activate ", "+ ")  # how lines begin that tell nobody how far it is
_MISLEADING = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "CONDA_PREFIX", "UV_PROJECT_ENVIRONMENT")

Tell = Callable[[str], None]


class BuildError(Exception):
    """It could not be built; the text says what uv said, or what is missing."""


async def build_python_environment(order: BuildOrder, tell: Tell) -> None:
    uv = find_uv()
    if uv is None:
        raise BuildError(f"{order.title} cannot be built, because there is no uv: pip install uv")
    try:
        order.place.parent.mkdir(parents=True, exist_ok=True)
        async with _lock(order.place.with_name(f"{order.place.name}.lock"), tell) as held:
            if not is_built(order):
                await asyncio.to_thread(_remove_leftovers, order.place)
                await _build(order, Uv(uv, order.place.parent, held, tell))
    except OSError as error:
        raise BuildError(f"{order.title} cannot be built in {order.place.parent}: {error.strerror}") from None


async def _build(order: BuildOrder, uv: "Uv") -> None:
    fresh = Path(tempfile.mkdtemp(prefix=f"{order.place.name}.building-", dir=order.place.parent))
    try:
        fresh.chmod(0o755)
        await _make_environment(order.python, fresh, uv)
        inside = f"--python={fresh / 'bin' / 'python'}"
        await uv.run("pip", "install", "--compile-bytecode", inside, *order.requirements)
        fresh.rename(order.place)
    finally:
        await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)


async def _make_environment(python: str, place: Path, uv: "Uv") -> None:
    try:
        await uv.run(
            "venv", "--no-project", "--relocatable", "--allow-existing", f"--python={find_python(python)}", str(place)
        )
    except BuildError as error:
        if (place / "pyvenv.cfg").exists():
            raise
        raise BuildError(f"uv finds no Python {python} on this machine that it can use; {error}") from None


def find_python(version: str) -> str:
    """Our own, one that pyenv keeps (what it puts into PATH refuses all but the chosen one), or what uv will find."""
    if version == own_python():
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    kept = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    return str(kept[-1]) if kept else version


def find_uv() -> str | None:
    """The environment's own, or the machine's."""
    return shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def _remove_leftovers(place: Path) -> None:
    for left in (place, *place.parent.glob(f"{place.name}.building-*")):
        shutil.rmtree(left, ignore_errors=True)


@contextlib.asynccontextmanager
async def _lock(path: Path, tell: Tell) -> AsyncIterator[int]:
    """The descriptor that holds it."""
    held = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                tell("another process is building it")
            await asyncio.sleep(_POLL_SECONDS)
        yield held
    finally:
        os.close(held)


class Uv:
    def __init__(self, program: str, directory: Path, lock: int, tell: Tell) -> None:
        self._program = program
        self._directory = directory
        self._lock = lock
        self._tell = tell

    async def run(self, *arguments: str) -> None:
        process = await asyncio.create_subprocess_exec(
            self._program,
            *arguments,
            cwd=self._directory,
            env=_build_surroundings(os.environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=(self._lock,),
            start_new_session=True,
        )
        lines = deque[str](maxlen=_KEPT_LINES)
        try:
            await self._listen(process, lines)
            if await process.wait() != 0:
                raise BuildError(summarize(lines))
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    async def _listen(self, process: asyncio.subprocess.Process, lines: "deque[str]") -> None:
        if process.stdout is None:
            raise RuntimeError("uv was started without a pipe")
        async for raw in process.stdout:
            line = raw.decode(errors="replace").strip()
            if line:
                lines.append(line)
            if line and not line.startswith(_NO_PROGRESS):
                self._tell(line)


def summarize(lines: "deque[str] | list[str]") -> str:
    """What uv gives as the reason: from its first word of an error on, in one line."""
    kept = list(lines)
    starts = [at for at, line in enumerate(kept) if line.lstrip().startswith(("error:", "×"))]
    words = " ".join(" ".join(kept[starts[0] if starts else 0 :]).replace("╰─▶", "").split())
    text = f"uv: {words or 'it ended without a word'}"
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"


def _build_surroundings(environment: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if name not in _MISLEADING}
    return kept | {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}
