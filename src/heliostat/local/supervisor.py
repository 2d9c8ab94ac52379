"""Keeps the processes of a local Heliostat alive: control plane, operator, node. Each may die, and comes back.

Rules: the control plane first, and the others once it answers and knows the ray.io kinds; what ends by itself is
started again after a pause that grows while it keeps ending; told to stop, they end in the opposite order, then
everything that ran in Pods, so nothing is left. What it does is written down for ``heliostat status``.
"""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.node.ending import end_all_pods
from heliostat.kube.backoff import Backoff
from heliostat.local.first_life import FIRST_LIFE
from heliostat.local.state import ChildStatus, State, SupervisorStatus

AGAIN = Backoff(first=0.2, factor=2.0, limit=10.0)
STABLE_SECONDS = 30.0
STOP_SECONDS = 15.0

Prepare: TypeAlias = Callable[[], Awaitable[None]]


class Command(Struct, frozen=True):
    """One process: its name, and the arguments of heliostat."""

    name: str
    arguments: tuple[str, ...]


class Child:
    """A process that is started again whenever it ends."""

    def __init__(self, command: Command, log: Path, on_change: Callable[[], None]) -> None:
        self.status = ChildStatus(command.name, 0, 0.0)
        self._command = command
        self._log = log
        self._on_change = on_change
        self._process: asyncio.subprocess.Process | None = None

    async def run(self) -> None:
        """Until cancelled."""
        crashes = 0
        while True:
            began = time.time()
            code = await self._run_once()
            crashes = 0 if time.time() - began > STABLE_SECONDS else crashes + 1
            self.status = ChildStatus(self._command.name, 0, time.time(), self.status.restarts + 1, _ending(code))
            self._on_change()
            await asyncio.sleep(AGAIN.delay(max(0, crashes - 1)))

    async def stop(self) -> None:
        """TERM, and KILL for what does not end in time."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _run_once(self) -> int:
        with self._log.open("ab") as log:
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "heliostat.cli",
                *self._command.arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C at the terminal is for the supervisor alone
                env=os.environ | ({FIRST_LIFE: "1"} if not self.status.since else {}),
            )
        known = self.status
        self.status = ChildStatus(known.name, process.pid, time.time(), known.restarts, known.last_exit)
        self._on_change()
        return await process.wait()


def _ending(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


class Supervisor:
    """``prepare`` runs when the control plane is up, before the others begin; it is tried until it succeeds."""

    def __init__(
        self, state: State, first: Command, others: Sequence[Command], prepare: Prepare, *, is_ephemeral: bool
    ) -> None:
        self._state = state
        self._prepare = prepare
        self._status = SupervisorStatus(pid=os.getpid(), since=time.time(), is_ephemeral=is_ephemeral)
        self._children = [self._child(command) for command in (first, *others)]

    async def run(self, stop: asyncio.Event) -> None:
        with self._state.lock():
            await end_all_pods(self._state.node)  # an earlier life may have been killed together with everything
            self._write()
            tasks = [asyncio.create_task(self._children[0].run())]
            try:
                await self._until(stop, self._get_ready())
                if not stop.is_set():
                    tasks += [asyncio.create_task(child.run()) for child in self._children[1:]]
                    self._write(is_ready=True)
                    await stop.wait()
            finally:
                await self._end(tasks)

    def _child(self, command: Command) -> Child:
        return Child(command, self._state.logs / f"{command.name}.log", self._write)

    async def _get_ready(self) -> None:
        while True:
            try:
                await self._prepare()
            except Exception as error:  # noqa: BLE001  told in the status, and tried again
                self._write(problem=str(error))
                await asyncio.sleep(0.05)
            else:
                self._write(problem="")
                return

    async def _until(self, stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
        stopping, working = asyncio.ensure_future(stop.wait()), asyncio.ensure_future(work)
        await asyncio.wait({stopping, working}, return_when=asyncio.FIRST_COMPLETED)
        for task in (stopping, working):
            task.cancel()
        await asyncio.gather(stopping, working, return_exceptions=True)

    async def _end(self, tasks: "list[asyncio.Task[None]]") -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for child in reversed(self._children[1:]):
            await child.stop()
        await end_all_pods(self._state.node)
        await self._children[0].stop()
        self._write(is_ready=False)

    def _write(self, *, is_ready: bool | None = None, problem: str | None = None) -> None:
        known = self._status
        self._status = SupervisorStatus(
            pid=known.pid,
            since=known.since,
            is_ephemeral=known.is_ephemeral,
            is_ready=known.is_ready if is_ready is None else is_ready,
            problem=known.problem if problem is None else problem,
            children=tuple(child.status for child in getattr(self, "_children", ())),
        )
        self._state.write_status(self._status)
