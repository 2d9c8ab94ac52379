"""Commands that the node runs in containers: their end, their words, their time, and a container that is not there."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxError, SandboxSpec, start_sandbox
from heliostat.embedded.node.pods import Container, Probe
from heliostat.embedded.node.probing.hooks import HookError, run_hook
from heliostat.embedded.node.probing.probe_checks import Checked, Target, check
from heliostat.embedded.node.probing.probes import ProbeResult
from heliostat.embedded.node.shim.protocol import Order
from heliostat.embedded.node.short_commands import MOST_OUTPUT, CommandResult, run_short_command

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")]


Play: TypeAlias = Callable[[Callable[[Sandbox], Coroutine[Any, Any, None]]], None]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Plays scenes with a Pod that has a container ``c``."""
    directory = tmp_path_factory.mktemp("pod")
    with asyncio.Runner() as runner:
        sandbox = runner.run(_start(directory))
        yield lambda scene: runner.run(asyncio.wait_for(scene(sandbox), 60))
        runner.run(sandbox.stop())
        runner.run(sandbox.close())


async def _start(directory: Path) -> Sandbox:
    sandbox = await start_sandbox(SandboxSpec(directory=directory, hostname="p"))
    environment = {"PATH": os.environ["PATH"], "A": "b"}
    await sandbox.start(Order("c", "c", ("sleep", "600"), environment, str(directory / "c"), str(directory / "log")))
    return sandbox


def shell(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def test_a_command_can_run_as_soon_as_the_start_was_answered_and_tells_its_end_and_words(play: Play) -> None:
    async def scene(sandbox: Sandbox) -> None:
        result = await run_short_command(sandbox, "c", shell("echo $A; echo error >&2; exit 3"), 10)
        assert result == CommandResult(3, "b\nerror\n")

    play(scene)


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(play: Play) -> None:
    async def scene(sandbox: Sandbox) -> None:
        result = await run_short_command(sandbox, "c", shell("echo begun; sleep 50 & sleep 50"), 2)
        assert (result.is_late, result.output) == (True, "begun\n")
        left = await run_short_command(sandbox, "c", shell("cat /proc/[0-9]*/cmdline | tr '\\0' ' '"), 10)
        assert "sleep 50" not in left.output

    play(scene)


def test_only_the_beginning_of_much_is_kept_and_nobody_has_to_wait_for_it(play: Play) -> None:
    async def scene(sandbox: Sandbox) -> None:
        result = await run_short_command(sandbox, "c", shell("head -c 3000000 /dev/zero | tr '\\0' x"), 30)
        assert (result.exit_code, result.output) == (0, "x" * MOST_OUTPUT)

    play(scene)


def test_a_child_that_stays_with_the_output_is_not_waited_for(play: Play) -> None:
    async def scene(sandbox: Sandbox) -> None:
        result = await run_short_command(sandbox, "c", shell("sleep 55 & echo done"), 10)
        assert result == CommandResult(0, "done\n")

    play(scene)


def test_what_cannot_be_started_says_why_and_who_is_not_there_is_an_error(play: Play) -> None:
    async def scene(sandbox: Sandbox) -> None:
        result = await run_short_command(sandbox, "c", ("no-such-program",), 10)
        assert "the command 'no-such-program' was not found in PATH" in result.why
        with pytest.raises(SandboxError, match="other is not running"):
            await run_short_command(sandbox, "other", ("true",), 10)

    play(scene)


async def nowhere(_address: str, _port: int) -> Any:
    raise ConnectionRefusedError(111, "Connection refused")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("true",), Checked(ProbeResult.SUCCESS)),
        (shell("echo bad; false"), Checked(ProbeResult.FAILURE, "bad\n")),
        (("sleep", "9"), Checked(ProbeResult.FAILURE, 'command timed out: "sleep 9" timed out after 1s')),
    ],
)
def test_what_a_probe_makes_of_a_command(play: Play, command: tuple[str, ...], expected: Checked) -> None:
    async def scene(sandbox: Sandbox) -> None:
        probe = Probe(exec_={"command": list(command)}, timeout_seconds=1)
        assert await check(probe, Target(sandbox, "c", Container("c"), ""), nowhere) == expected
        gone = await check(probe, Target(sandbox, "gone", Container("gone"), ""), nowhere)
        assert gone.verdict is ProbeResult.UNKNOWN

    play(scene)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"exec": {"command": ["sh", "-c", "echo no; exit 4"]}}, "command 'sh -c echo no; exit 4' exited with 4: no"),
        ({"exec": {"command": ["sleep", "9"]}}, "it was not over after 1s"),
        ({"sleep": {"seconds": 9}}, "it was not over after 1s"),
        ({"httpGet": {"port": 80}}, "connection refused"),
        ({"httpGet": {"port": "web"}}, "couldn't find port 'web' in container c"),
        ({"tcpSocket": {"port": 80}}, "it has no exec, httpGet or sleep"),
    ],
)
def test_how_a_hook_fails_is_told(play: Play, action: dict[str, Any], message: str) -> None:
    async def scene(sandbox: Sandbox) -> None:
        with pytest.raises(HookError) as raised:
            await run_hook(action, Target(sandbox, "c", Container("c"), "10.0.0.1"), nowhere, 1.0)
        assert message in str(raised.value)

    play(scene)


def test_hooks_that_do_what_they_should_are_silent(play: Play) -> None:
    async def scene(sandbox: Sandbox) -> None:
        target = Target(sandbox, "c", Container("c"), "10.0.0.1")
        await run_hook({"exec": {"command": ["true"]}}, target, nowhere)
        await run_hook({"sleep": {"seconds": 0}}, target, nowhere)

    play(scene)
