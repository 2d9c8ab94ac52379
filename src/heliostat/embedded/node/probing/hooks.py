"""The hooks of a container: postStart beside its first moments, preStop before its TERM.

A postStart hook that fails dooms its container. One that was running when the node went away is taken as done, as its
container went on without it. A preStop hook that fails changes nothing, but is told.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from heliostat.embedded.node.isolating.sandbox import SandboxError
from heliostat.embedded.node.probing import http_get
from heliostat.embedded.node.probing.http_get import Connect, UnknownPortError
from heliostat.embedded.node.probing.probe_checks import Target, explain
from heliostat.embedded.node.short_commands import run_short_command

_FAR = 10**6  # seconds that no hook takes


class HookError(Exception):
    """The hook has failed; the text says how."""


class HookState(Struct, frozen=True):
    is_pending: bool = False
    has_failed: bool = False


_DONE = HookState()


async def run_hook(action: dict[str, Any], target: Target, connect: Connect, seconds: float = _FAR) -> None:
    """``action`` is an exec, httpGet or sleep; raises HookError when it fails or takes longer."""
    try:
        async with asyncio.timeout(seconds):
            await _run(action, target, connect, seconds)
    except TimeoutError:
        raise HookError(f"it was not over after {seconds:.0f}s") from None
    except OSError as error:
        raise HookError(explain(error)) from None
    except (SandboxError, UnknownPortError) as error:
        raise HookError(str(error)) from None


async def _run(action: dict[str, Any], target: Target, connect: Connect, seconds: float) -> None:
    if action.get("sleep") is not None:
        await asyncio.sleep(float(action["sleep"].get("seconds") or 0))
    elif action.get("exec") is not None:
        await _run_command(tuple(action["exec"].get("command") or ()), target, seconds)
    elif action.get("httpGet") is not None:
        answered = await http_get.get(connect, action["httpGet"], target.container, target.address)
        if answered.status >= 400:
            raise HookError(f"HTTP request failed with statuscode: {answered.status}")
    else:
        raise HookError("it has no exec, httpGet or sleep")


async def _run_command(command: tuple[str, ...], target: Target, seconds: float) -> None:
    result = await run_short_command(target.sandbox, target.id, command, seconds)
    if result.why or result.exit_code != 0:
        said = f": {result.output.strip()}" if result.output.strip() else ""
        raise HookError(result.why or f"command '{' '.join(command)}' exited with {result.exit_code}{said}")


class PostStartHooks:
    """``over`` hears the id of a run whose hook has ended, and how it failed if it did."""

    def __init__(
        self, connect: Connect, over: Callable[[str, str], None], on_problem: Callable[[str, Exception], None]
    ) -> None:
        self._connect = connect
        self._over = over
        self._on_problem = on_problem
        self._states: dict[str, HookState] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    def state(self, id_: str) -> HookState:
        return self._states.get(id_, _DONE)

    def expect(self, id_: str) -> None:
        """The container is about to start: from its first moment it is known to be not yet set up."""
        self._states[id_] = HookState(is_pending=True)

    def begin(self, action: dict[str, Any], target: Target) -> None:
        task = asyncio.create_task(self._carry_out(action, target), name=f"postStart of {target.id}")
        self._running[target.id] = task

    def end(self, id_: str) -> None:
        """The container is over, or was never started."""
        self._states.pop(id_, None)
        task = self._running.pop(id_, None)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        tasks = tuple(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, action: dict[str, Any], target: Target) -> None:
        failed = ""
        try:
            await run_hook(action, target, self._connect)
        except HookError as error:
            failed = str(error)
        except Exception as error:  # noqa: BLE001  a hook that trips us must not leave its container waiting for ever
            self._on_problem(f"the postStart hook of {target.id}", error)
            failed = "see the log of the node"
        self._running.pop(target.id, None)
        self._states[target.id] = HookState(has_failed=bool(failed))
        self._over(target.id, failed)
