"""Pods that cannot run, on a real node: each says why in its status, and ``explain`` what to do about it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from embedded.node.node_world import NodeWorld, Tree, is_phase, node_world, processes_of, shell, state
from embedded.node.pod_shapes import build_pod, situation
from heliostat.embedded.node.isolating.sandbox import SandboxError
from heliostat.embedded.node.statuses import Place, build_status
from heliostat.embedded.node.step_reports import find_troubles
from heliostat.explain.explanation import format_explanation
from heliostat.explain.objects import explain_object
from heliostat.kube.plan import Effect
from heliostat.runtime.outcome import FailedAction, Outcome
from local.small_disk import fill, small_disk

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root"),
]

Play: TypeAlias = Callable[[Callable[[NodeWorld], Coroutine[Any, Any, None]]], None]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Plays scenes in one world; it stands still in between."""
    directory = tmp_path_factory.mktemp("node")
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        world = runner.run(stack.enter_async_context(node_world(directory)))
        yield lambda scene: runner.run(scene(world))
        runner.run(stack.aclose())
    assert processes_of(directory) == []


async def explain(world: NodeWorld, pod: Tree) -> str:
    """As a person reads it."""
    events = await world.server.request("GET", "/api/v1/namespaces/default/events")
    return format_explanation(explain_object({"apiVersion": "v1", "kind": "Pod", **pod}, [], events["items"]))


def mounting(**volume: Any) -> Tree:
    return {"volumes": [{"name": "v", **volume}]}


def reading() -> Tree:
    return shell("ls /v", volumeMounts=[{"name": "v", "mountPath": "/v"}])


WAITING = [
    (
        "image",
        {"name": "c", "image": "example.com/team/thing:7"},
        {},
        "ErrImagePull",
        '[[image]] match = "team/thing*"',
        "images.toml",
    ),
    (
        "config-map",
        reading(),
        mounting(configMap={"name": "absent"}),
        "CreateContainerConfigError",
        'configmap "absent" not found',
        "create the ConfigMap",
    ),
    (
        "secret",
        reading(),
        mounting(secret={"secretName": "absent"}),
        "CreateContainerConfigError",
        'secret "absent" not found',
        "create the Secret",
    ),
    (
        "host-path",
        reading(),
        mounting(hostPath={"path": "/absent/from/here", "type": "Directory"}),
        "CreateContainerConfigError",
        "/absent/from/here is not a directory",
        "create the path on this machine, or give the hostPath the type DirectoryOrCreate",
    ),
    (
        "nfs",
        reading(),
        mounting(nfs={"server": "s", "path": "/"}),
        "CreateContainerConfigError",
        "this node cannot provide nfs",
        "use emptyDir, hostPath or a claim",
    ),
]


@pytest.mark.parametrize(("name", "container", "spec", "reason", "message", "fix"), WAITING)
def test_a_pod_that_waits_says_for_what(
    play: Play, name: str, container: Tree, spec: Tree, reason: str, message: str, fix: str
) -> None:
    async def scene(world: NodeWorld) -> None:
        await world.run_pod(name, container, **spec)
        pod = await world.until(name, lambda pod: state(pod).get("waiting", {}).get("reason") == reason)
        assert message in state(pod)["waiting"]["message"]
        told = await explain(world, pod)
        assert message in told
        assert fix in told.partition("fix: ")[2]
        await world.delete_pod(name)
        await world.until_gone(name)

    play(scene)


def test_a_claim_that_does_not_exist_keeps_the_pod_from_a_node(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        await world.run_pod("claim", reading(), **mounting(persistentVolumeClaim={"claimName": "absent"}))
        pod = await world.until("claim", lambda pod: pod["status"].get("conditions"))
        (scheduled,) = pod["status"]["conditions"]
        assert (scheduled["type"], scheduled["reason"]) == ("PodScheduled", "Unschedulable")
        told = await explain(world, pod)
        assert 'persistentvolumeclaim "absent" not found' in told
        assert "fix: create the PersistentVolumeClaim" in told

    play(scene)


@pytest.mark.parametrize("policy", ["Never", "Always"])
def test_a_command_that_does_not_exist(play: Play, policy: str) -> None:
    async def scene(world: NodeWorld) -> None:
        name = f"command-{policy.lower()}"
        nothing = {"name": "c", "image": "busybox", "command": ["no-such-program"]}
        await world.run_pod(name, nothing, restartPolicy=policy)
        pod = await world.until(name, lambda pod: is_phase("Failed")(pod) or _is_backing_off(pod))
        told = await explain(world, pod)
        assert "the command 'no-such-program' was not found in PATH" in told
        assert "fix: correct command and args: the program is not in the container's PATH" in told
        await world.delete_pod(name)
        await world.until_gone(name)

    play(scene)


def _is_backing_off(pod: Tree) -> bool:
    return bool(state(pod).get("waiting", {}).get("reason") == "CrashLoopBackOff")


FORBIDDEN = """
import asyncio, sys
from pathlib import Path
from heliostat.embedded.node.isolating.sandbox import SandboxError, SandboxSpec, start_sandbox
from heliostat.embedded.node.shim import syscalls
from heliostat.embedded.node.isolating.shim_template import ShimTemplate

syscalls.unshare(syscalls.NEW_USERS)
Path("/proc/self/setgroups").write_text("deny")
for kind in ("uid", "gid"):
    Path(f"/proc/self/{kind}_map").write_text("0 0 1")
Path("/proc/sys/user/max_pid_namespaces").write_text("0")

async def work():
    template = ShimTemplate()
    try:
        await start_sandbox(SandboxSpec(directory=Path(sys.argv[1]), hostname="p"), template)
    except SandboxError as error:
        print(error, end="")
    finally:
        await template.close()

asyncio.run(work())
"""


def test_a_machine_that_allows_no_namespaces(tmp_path: Path) -> None:
    """The words are those of a system that forbids them; what is made of them is what a node does."""
    result = subprocess.run(
        [sys.executable, "-c", FORBIDDEN, str(tmp_path)], capture_output=True, text=True, timeout=30, check=False
    )
    assert "unshare(" in result.stdout, result.stderr
    failure = FailedAction(Effect("pod-step", {}, "k", because="it"), SandboxError(result.stdout), "")
    troubles = find_troubles(Outcome(failures=(failure,)))
    pod = build_pod()
    status = build_status(situation(pod, has_sandbox=False), Place(host_address="h", troubles=troubles))
    (container,) = status["containerStatuses"]
    assert container["state"]["waiting"]["reason"] == "CreatePodSandboxError"
    (told,) = [each for each in status["conditions"] if each["type"] == "PodReadyToStartContainers"]
    assert (told["status"], told["message"]) == ("False", result.stdout)
    tree = {"kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {"nodeName": "n"}}
    explained = format_explanation(explain_object(tree | {"status": status}, [], []))
    assert "fix: allow namespaces: run heliostat as root" in explained


def test_a_volume_in_memory_that_is_full(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        fills = shell(
            "dd if=/dev/zero of=/v/big bs=1M count=4",
            volumeMounts=[{"name": "v", "mountPath": "/v"}],
            terminationMessagePolicy="FallbackToLogsOnError",
        )
        spec = mounting(emptyDir={"medium": "Memory", "sizeLimit": "1Mi"})
        await world.run_pod("brim", fills, restartPolicy="Never", **spec)
        pod = await world.until("brim", is_phase("Failed"))
        assert "No space left on device" in state(pod)["terminated"]["message"]
        told = await explain(world, pod)
        assert "raise the volume's sizeLimit" in told.partition("fix: ")[2]

    play(scene)


def test_a_disk_that_is_full_is_said_and_the_pod_runs_once_there_is_room(tmp_path: Path) -> None:
    async def work() -> None:
        async with node_world(tmp_path) as world:
            await world.run_pod("first", shell("echo hello"), restartPolicy="Never")
            await world.until("first", is_phase("Succeeded"))
            big = fill(tmp_path)
            await world.run_pod("late", shell("echo at last"), restartPolicy="Never")
            pod = await world.until("late", lambda pod: "message" in state(pod).get("waiting", {}))
            assert "No space left on device" in state(pod)["waiting"]["message"]
            told = await explain(world, pod)
            assert "free space on the node's disk" in told.partition("fix: ")[2]
            big.unlink()
            pod = await world.until("late", is_phase("Succeeded"))
            assert world.log(pod) == ["at last"]

    with small_disk(tmp_path, "16m"):
        asyncio.run(work())
        assert processes_of(tmp_path) == []
