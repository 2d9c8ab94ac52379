"""A container looks for ways out, from inside: none of them is open. What Pods ask of their rights is carried out."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from embedded.node.node_world import NodeWorld, Tree, is_phase, node_world, shell, state
from heliostat.embedded.node.capabilities import UnknownCapabilityError, decide_capabilities
from heliostat.embedded.node.environment import MissingReferenceError
from heliostat.embedded.node.isolating.cgroups import find_cgroups

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")
PYTHON = str(Path(sys.executable).resolve())
Run = Callable[..., Tree]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A container with a script, to its end or to where it waits; ``said`` of what comes back is its log."""
    with asyncio.Runner() as runner:
        stack, names = AsyncExitStack(), iter(range(1000))
        world: NodeWorld = runner.run(stack.enter_async_context(node_world(tmp_path_factory.mktemp("node"))))

        async def play(script: str, context: Tree, spec: Tree) -> Tree:
            name = f"pod-{next(names)}"
            await world.run_pod(name, shell(script, securityContext=context), restartPolicy="Never", **spec)
            pod = await world.until(name, _is_settled)
            return {**pod, "said": world.log(pod)}

        yield lambda script, context=None, **spec: runner.run(play(script, context or {}, spec))
        runner.run(stack.aclose())
    assert [error for _, error in world.problems if not isinstance(error, MissingReferenceError)] == []


def _is_settled(pod: Tree) -> bool:
    waits = state(pod).get("waiting", {}).get("reason") == "CreateContainerConfigError"
    return waits or is_phase("Succeeded", "Failed")(pod)


def read_capabilities(said: list[str]) -> set[int]:
    (line,) = [line for line in said if line.startswith("CapEff")]
    mask = int(line.split()[1], 16)
    return {number for number in range(64) if mask >> number & 1}


@needs_root
@pytest.mark.parametrize(
    "script",
    [
        "cat /proc/sys/kernel/core_pattern > /tmp/same; cat /tmp/same > /proc/sys/kernel/core_pattern",
        "test -w /proc/sys/net/ipv4/ip_forward",
        "echo h > /proc/sysrq-trigger",
        "mount -o remount,rw /proc/sys",
        "umount /proc/sys",
        "find /sys/fs/cgroup -maxdepth 2 -writable | grep -q .",
        "find /sys/kernel -maxdepth 2 -writable | grep -q .",
        "mknod /tmp/disk b 8 0",
        "mknod /disk c 1 3",
        "test -s /proc/kcore && head -c1 /proc/kcore | grep -q .",
        "grep -q . /proc/timer_list",
        "grep -q . /proc/keys",
        "find /proc/irq /proc/bus /proc/fs -maxdepth 2 -writable | grep -q .",
        "ls /sys/firmware | grep -q .",
    ],
)
def test_the_kernel_of_the_machine_is_out_of_reach(run: Run, script: str) -> None:
    assert run(f"if {{ {script}; }} 2> /dev/null; then echo open; else echo closed; fi")["said"] == ["closed"]


@needs_root
def test_a_device_file_in_a_container_s_own_files_opens_nothing(run: Run) -> None:
    places = run('awk \'$2 == "/" || $2 == "/tmp" || $2 == "/run" {print $2, $4}\' /proc/mounts')["said"]
    assert {place.split()[0] for place in places if "nodev" in place} == {"/", "/tmp", "/run"}


@needs_root
def test_a_container_has_the_capabilities_of_runtimes_and_no_others(run: Run) -> None:
    said = run("grep Cap /proc/self/status")["said"]
    assert read_capabilities(said) == set(decide_capabilities())
    assert [line for line in said if line.startswith(("CapInh", "CapAmb")) and int(line.split()[1], 16)] == []


@needs_root
def test_capabilities_are_added_and_dropped_as_a_container_asks(run: Run) -> None:
    wanted = {"capabilities": {"add": ["SYS_PTRACE", "CHOWN"], "drop": ["ALL"]}}
    assert read_capabilities(run("grep CapEff /proc/self/status", wanted)["said"]) == {0, 19}


@needs_root
def test_a_container_that_may_not_gain_rights_is_told_so_by_the_kernel(run: Run) -> None:
    script = "grep NoNewPrivs /proc/self/status"
    assert run(script)["said"] == ["NoNewPrivs:\t0"]
    assert run(script, {"allowPrivilegeEscalation": False})["said"] == ["NoNewPrivs:\t1"]


@needs_root
@pytest.mark.parametrize("place", ["/file", "/tmp/file", "/run/file", "/usr/file"])
def test_a_read_only_root_is_read_only_everywhere_but_in_volumes(run: Run, place: str) -> None:
    script = f"touch {place} 2> /dev/null || echo closed; touch /dev/shm/file && echo open"
    assert run(script, {"readOnlyRootFilesystem": True})["said"] == ["closed", "open"]


@needs_root
@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"runAsNonRoot": True}, "container has runAsNonRoot and image will run as root (pod: "),
        ({"runAsNonRoot": True, "runAsUser": 0}, "container's runAsUser breaks non-root policy (pod: "),
        ({"capabilities": {"add": ["FLY"]}}, 'unknown capability "FLY"'),
    ],
)
def test_what_cannot_be_granted_holds_a_container_up(run: Run, context: dict[str, Any], words: str) -> None:
    waiting = state(run("true", context))["waiting"]
    assert waiting["reason"] == "CreateContainerConfigError"
    assert waiting["message"].startswith(words)


@needs_root
def test_a_container_that_must_not_be_root_runs_as_somebody_else(run: Run) -> None:
    assert run("id -u", {"runAsNonRoot": True}, securityContext={"runAsUser": 1000})["said"] == ["1000"]


@needs_root
@pytest.mark.skipif(find_cgroups() is None, reason="needs control groups that can be written")
def test_a_container_may_not_fork_without_end(run: Run) -> None:
    assert run("cat $(find /sys/fs/cgroup -name pids.max | head -1)")["said"] == ["16384"]


@pytest.mark.parametrize(
    ("added", "dropped", "expected"),
    [
        ((), ("ALL",), set()),
        (("NET_ADMIN",), ("ALL",), {12}),
        (("CAP_SYS_ADMIN",), (), {21, *decide_capabilities()}),
        (("ALL",), ("CHOWN",), set(range(1, 41))),
        (("CHOWN",), ("CHOWN",), set(decide_capabilities()) - {0}),
    ],
)
def test_what_is_dropped_by_name_counts_last(
    added: tuple[str, ...], dropped: tuple[str, ...], expected: set[int]
) -> None:
    assert set(decide_capabilities(added, dropped)) == expected


def test_a_capability_that_no_kernel_has_is_refused() -> None:
    with pytest.raises(UnknownCapabilityError, match='unknown capability "FLY"'):
        decide_capabilities(("FLY",))
