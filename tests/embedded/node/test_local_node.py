"""Real Pods on a real node: they run, fail, recover and leave no traces, and their status tells the truth."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from embedded.node.node_world import (
    NodeWorld,
    is_phase,
    is_ready,
    node_world,
    processes_of,
    shell,
    state,
    status_of,
)
from heliostat.embedded.node.environment import MissingReferenceError
from heliostat.embedded.node.imaging.images import UnknownImageError
from heliostat.embedded.node.isolating.cgroups import find_cgroups
from heliostat.embedded.node.isolating.limits import Limits

# Not that of the environment: it may lie in /tmp, which every container has for itself.
PYTHON = str(Path(sys.executable).resolve())

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root"),
]

_TOLD = (UnknownImageError, MissingReferenceError)  # what scenes bring about

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
    assert [error for _, error in world.problems if not isinstance(error, _TOLD)] == []


def test_a_pod_runs_to_its_end_and_is_deleted_without_traces(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        await world.run_pod("once", shell("echo hello"), restartPolicy="Never")
        pod = await world.until("once", is_phase("Succeeded", "Failed"))
        assert pod["status"]["phase"] == "Succeeded"
        assert state(pod)["terminated"]["reason"] == "Completed"
        assert world.log(pod) == ["hello"]
        for reason in ("Pulled", "Created", "Started"):
            await world.until_event("once", reason)
        await world.delete_pod("once")
        await world.until_gone("once")
        await world.until_no_directory(pod["metadata"]["uid"])

    play(scene)


def test_a_running_pod_is_told_to_end_and_leaves_no_process(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        pod = await world.run_pod(
            "polite", shell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done")
        )
        await world.until_log(pod, "up")
        await world.delete_pod("polite")
        await world.until_event("polite", "Killing", "Stopping container c")
        await world.until_gone("polite")
        uid = pod["metadata"]["uid"]
        await world.until_no_directory(uid)
        assert processes_of(world.directory / "pods" / uid) == []

    play(scene)


def test_one_that_does_not_listen_is_killed_when_its_grace_is_over(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        stubborn = shell("trap '' TERM; echo up; while :; do sleep 0.05; done")
        pod = await world.run_pod("stubborn", stubborn, terminationGracePeriodSeconds=1)
        await world.until_log(pod, "up")
        await world.delete_pod("stubborn")
        await world.until_gone("stubborn")

    play(scene)


def test_whoever_deletes_again_with_less_grace_has_it_ended_sooner(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        hook = {"preStop": {"sleep": {"seconds": 300}}}
        stubborn = shell("trap '' TERM; echo up; while :; do sleep 0.05; done", lifecycle=hook)
        pod = await world.run_pod("sooner", stubborn, terminationGracePeriodSeconds=600)
        await world.until_log(pod, "up")
        await world.delete_pod("sooner")
        await world.until_event("sooner", "Killing")
        await world.delete_pod("sooner", gracePeriodSeconds=1)
        await world.until_gone("sooner")

    play(scene)


def test_a_container_that_crashes_is_restarted_with_back_off(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        pod = await world.run_pod("crash", shell("echo again; exit 7"))
        pod = await world.until("crash", lambda pod: state(pod).get("waiting", {}).get("reason") == "CrashLoopBackOff")
        assert status_of(pod)["restartCount"] == 1
        assert status_of(pod)["lastState"]["terminated"]["exitCode"] == 7
        assert "back-off 10s restarting failed container=c" in state(pod)["waiting"]["message"]
        assert world.log(pod, attempt=0) == world.log(pod, attempt=1) == ["again"]
        uid = pod["metadata"]["uid"]
        layers = [world.directory / "pods" / uid / "containers" / f"{uid}-c-{attempt}" / "layers" for attempt in (0, 1)]
        await world.until_true(lambda: not layers[0].exists())  # of all that died only the last one's are kept
        assert layers[1].exists()
        await world.until_event("crash", "BackOff", "Back-off restarting failed container c in pod crash")
        await world.delete_pod("crash")
        await world.until_gone("crash")

    play(scene)


def test_readiness_flips_with_what_the_probe_finds(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        probe = {"exec": {"command": ["cat", "/tmp/ready"]}, "periodSeconds": 1, "failureThreshold": 1}
        script = (
            "echo up; while [ ! -e /tmp/go ]; do sleep 0.05; done; touch /tmp/ready; sleep 3; rm /tmp/ready; sleep 60"
        )
        await world.run_pod(
            "flips", shell(script, readinessProbe=probe, lifecycle=_post_start("sleep 1; touch /tmp/go"))
        )
        await world.until("flips", is_ready)
        await world.until("flips", lambda pod: "running" in state(pod) and not is_ready(pod))
        await world.until_event("flips", "Unhealthy", "Readiness probe failed: cat: ")
        await world.delete_pod("flips")
        await world.until_gone("flips")

    play(scene)


def test_a_container_whose_liveness_probe_fails_is_restarted(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        probe = {"tcpSocket": {"port": 81}, "periodSeconds": 1, "failureThreshold": 1}
        await world.run_pod("dead", shell("sleep 60", livenessProbe=probe), terminationGracePeriodSeconds=0)
        pod = await world.until("dead", lambda pod: status_of(pod).get("restartCount", 0) >= 1)
        assert status_of(pod)["lastState"]["terminated"]["exitCode"] in (137, 143)
        await world.until_event("dead", "Unhealthy", "Liveness probe failed: connection refused")
        await world.until_event("dead", "Killing", "Container c failed liveness probe, will be restarted")
        await world.delete_pod("dead")
        await world.until_gone("dead")

    play(scene)


def test_requests_are_made_to_the_pods_own_address(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        serve = f"cd /tmp && touch healthy && exec {PYTHON} -m http.server 8080"
        probe = {"httpGet": {"path": "/healthy", "port": "web"}, "periodSeconds": 1}
        ports = [{"name": "web", "containerPort": 8080}]
        await world.run_pod("web", shell(serve, ports=ports, startupProbe=probe | {"failureThreshold": 60}))
        pod = await world.until("web", is_ready)
        assert status_of(pod)["started"] is True
        await world.delete_pod("web")
        await world.until_gone("web")

    play(scene)


def test_wget_is_there_also_where_the_machine_has_none(play: Play) -> None:
    """Real ones are hidden by a PATH with nothing but the stand-ins and the shell's own."""

    async def scene(world: NodeWorld) -> None:
        serve = f"cd /tmp && echo success > healthy && exec {PYTHON} -m http.server 8080"
        only = "env PATH=${PATH##*:} wget --tries 1 -T 2 -q -O- http://localhost:8080"
        probe = {"periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 60}
        ready = probe | {"exec": {"command": ["/bin/sh", "-c", f"{only}/healthy | grep success"]}}
        await world.run_pod("fetches", shell(serve, startupProbe=ready))
        await world.until("fetches", is_ready)
        await world.delete_pod("fetches")
        await world.until_gone("fetches")

    play(scene)


def test_the_environment_and_the_volumes_are_as_seen_inside(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        await world.create(
            "configmaps", {"metadata": {"name": "settings"}, "data": {"a.txt": "from a map", "KEY": "v"}}
        )
        await world.create("secrets", {"metadata": {"name": "hidden"}, "stringData": {"word": "sesame"}})
        script = (
            'echo "$NAME $WORD $KEY $MEMORY"; cat /etc/map/a.txt; echo; echo x > /scratch/x && cat /scratch/x; hostname'
        )
        container = shell(
            script,
            env=[
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "word"}}},
                {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
            ],
            envFrom=[{"configMapRef": {"name": "settings"}}],
            resources={"limits": {"memory": "64Mi"}},
            volumeMounts=[{"name": "map", "mountPath": "/etc/map"}, {"name": "scratch", "mountPath": "/scratch"}],
        )
        volumes = [{"name": "map", "configMap": {"name": "settings"}}, {"name": "scratch", "emptyDir": {}}]
        await world.run_pod("inside", container, volumes=volumes, restartPolicy="Never")
        pod = await world.until("inside", is_phase("Succeeded", "Failed"))
        assert world.log(pod) == ["inside sesame v 64", "from a map", "x", "inside"]

    play(scene)


def test_a_node_that_comes_back_finds_its_pods_as_they_are(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
        await world.run_pod("lasting", shell("echo up; sleep 60", readinessProbe=probe))
        await world.run_pod("ending", shell("while [ ! -e /shared/go ]; do sleep 0.05; done; exit 3", **_shared()),
                            restartPolicy="Never", **_shared_volume(world))  # fmt: skip
        before = await world.until("lasting", is_ready)
        await world.until("ending", is_phase("Running"))
        await world.stop_node()
        (world.directory / "shared").joinpath("go").touch()
        await world.start_node()
        pod = await world.until("ending", is_phase("Failed"))
        assert state(pod)["terminated"]["exitCode"] == 3
        after = await world.until("lasting", is_ready)
        assert status_of(after) == status_of(before)
        assert after["status"]["conditions"] == before["status"]["conditions"]
        for name in ("lasting", "ending"):
            await world.delete_pod(name)
            await world.until_gone(name)

    play(scene)


def test_a_pod_that_was_deleted_while_the_node_was_away_is_ended_when_it_is_back(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        pod = await world.run_pod("missed", shell("echo up; sleep 60"))
        await world.until_log(pod, "up")
        await world.stop_node()
        await world.delete_pod("missed")
        await world.start_node()
        await world.until_gone("missed")
        await world.until_no_directory(pod["metadata"]["uid"])

    play(scene)


def test_a_sidecar_starts_before_and_ends_after_the_work(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        ready = {"exec": {"command": ["cat", "/tmp/up"]}, "periodSeconds": 1}
        end = "trap 'echo sidecar >> /shared/order; exit 0' TERM"
        serves = f"{end}; echo first >> /shared/order; touch /tmp/up; while :; do sleep 0.05; done"
        helper = shell(serves, "helper", restartPolicy="Always", startupProbe=ready, **_shared())
        setup = shell("echo setup >> /shared/order", "setup", **_shared())
        work = shell("echo work >> /shared/order", **_shared())
        spec = {"initContainers": [helper, setup], "restartPolicy": "Never", **_shared_volume(world)}
        await world.run_pod("helped", work, **spec)
        pod = await world.until("helped", is_phase("Succeeded", "Failed"))
        assert pod["status"]["phase"] == "Succeeded"
        assert (world.directory / "shared" / "order").read_text().split() == ["first", "setup", "work", "sidecar"]

    play(scene)


def test_a_pod_that_was_deleted_by_force_is_cleaned_up(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        stubborn = shell(
            "trap '' TERM; echo up; while :; do sleep 0.05; done", resources={"limits": {"memory": "64Mi"}}
        )
        pod = await world.run_pod("forced", stubborn)
        await world.until_log(pod, "up")
        await world.delete_pod("forced", gracePeriodSeconds=0)
        assert await world.pod("forced") is None
        await world.until_no_directory(pod["metadata"]["uid"])
        assert processes_of(world.directory / "pods" / pod["metadata"]["uid"]) == []
        assert list(Path("/sys/fs/cgroup").rglob(f"{pod['metadata']['uid']}*")) == []

    play(scene)


def test_a_pod_whose_sandbox_dies_is_restarted(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        pod = await world.run_pod("orphan", shell("echo up; sleep 60"))
        await world.until_log(pod, "up")
        directory = world.directory / "pods" / pod["metadata"]["uid"]
        os.kill(int((directory / "shim.pid").read_text().split()[0]), signal.SIGKILL)
        pod = await world.until("orphan", lambda pod: status_of(pod)["restartCount"] == 1 and "running" in state(pod))
        assert status_of(pod)["lastState"]["terminated"]["exitCode"] == 137
        await world.delete_pod("orphan")
        await world.until_gone("orphan")

    play(scene)


def test_init_containers_run_again_in_a_new_sandbox_where_memory_is_empty(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        mounts = [{"name": "m", "mountPath": "/m"}]
        init = shell("test -e /m/file && echo full || echo empty; echo made > /m/file", "i", volumeMounts=mounts)
        main = shell("cat /m/file; sleep 60", volumeMounts=mounts)
        volumes = [{"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]
        pod = await world.run_pod("again", main, initContainers=[init], volumes=volumes)
        await world.until_log(pod, "made")
        directory = world.directory / "pods" / pod["metadata"]["uid"]
        os.kill(int((directory / "shim.pid").read_text().split()[0]), signal.SIGKILL)
        await world.until_log(pod, "made", attempt=1)
        assert [world.log(pod, "i", attempt) for attempt in (0, 1)] == [["empty"], ["empty"]]
        pod = await world.until("again", is_ready)
        assert (status_of(pod, "i")["restartCount"], status_of(pod)["restartCount"]) == (1, 1)
        await world.delete_pod("again")
        await world.until_gone("again")

    play(scene)


def test_a_pod_in_the_network_of_its_node_is_reached_there_and_the_machine_notices_nothing(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        answer = (
            "import socket; s = socket.create_server(('', 8099)); print('up', flush=True);"
            " [s.accept()[0].sendall(b'from the node') for _ in iter(int, 1)]"
        )
        pod = await world.run_pod("host", shell(f'hostname; exec {PYTHON} -c "{answer}"'), hostNetwork=True)
        await world.until_log(pod, "up")
        pod = await world.until("host", is_ready)
        assert pod["status"]["podIP"] == pod["status"]["hostIP"]
        assert world.log(pod)[0] == pod["spec"]["nodeName"]
        ask = f"{PYTHON} -c \"import socket; print(socket.create_connection(('10.244.0.1', 8099)).recv(99).decode())\""
        await world.run_pod("asks", shell(ask), restartPolicy="Never")
        asked = await world.until("asks", is_phase("Succeeded", "Failed"))
        assert world.log(asked) == ["from the node"]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", 8099))
        await world.delete_pod("host")
        await world.until_gone("host")

    play(scene)


def test_an_image_that_no_entry_stands_for_says_which_line_to_add(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        await world.run_pod("unknown", {"name": "c", "image": "example.com/team/thing:7"})
        pod = await world.until("unknown", lambda pod: state(pod).get("waiting", {}).get("reason") == "ErrImagePull")
        assert '[[image]] match = "team/thing*"' in state(pod)["waiting"]["message"]
        await world.until_event("unknown", "Failed", "Failed to pull image")
        await world.delete_pod("unknown")
        await world.until_gone("unknown")

    play(scene)


def test_a_command_that_does_not_exist_is_told_by_its_name(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        nothing = {"name": "c", "image": "busybox", "command": ["no-such-program"]}
        await world.run_pod("nothing", nothing, restartPolicy="Never")
        pod = await world.until("nothing", is_phase("Failed"))
        ended = state(pod)["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("ContainerCannotRun", 127)
        assert "the command 'no-such-program' was not found in PATH" in ended["message"]
        await world.until_event("nothing", "Failed", "Error: the command 'no-such-program'")

    play(scene)


def test_the_end_of_the_log_is_the_message_of_a_container_that_failed_without_one(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        fallback = {"terminationMessagePolicy": "FallbackToLogsOnError"}
        silent = shell("echo what went wrong; exit 1", "silent", **fallback)
        speaks = shell("echo own words > /dev/termination-log; exit 1", "speaks", **fallback)
        await world.run_pod("words", silent, speaks, restartPolicy="Never")
        pod = await world.until("words", is_phase("Failed"))
        assert state(pod, "silent")["terminated"]["message"] == "what went wrong\n"
        assert state(pod, "speaks")["terminated"]["message"] == "own words\n"

    play(scene)


@pytest.mark.skipif(find_cgroups() is None, reason="needs control groups that can be written")
def test_a_container_that_uses_more_memory_than_it_may_is_killed_for_it(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        eats = f"cat /sys/fs/cgroup/memory*/memory.*limit_in_bytes; exec {PYTHON} -c 'x = bytearray(200_000_000)'"
        container = shell(eats, resources={"limits": {"memory": "48Mi"}})
        await world.run_pod("hungry", container, restartPolicy="Never")
        pod = await world.until("hungry", is_phase("Failed"))
        assert (state(pod)["terminated"]["reason"], state(pod)["terminated"]["exitCode"]) == ("OOMKilled", 137)
        assert str(48 * 1024 * 1024) in world.log(pod)
        assert list(Path("/sys/fs/cgroup").rglob(f"{pod['metadata']['uid']}*")) == []

    play(scene)


@pytest.mark.skipif(find_cgroups() is None, reason="needs control groups that can be written")
def test_a_pod_whose_image_nobody_provides_leaves_no_control_group(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        container = shell("true", resources={"requests": {"cpu": "1"}}) | {"image": "nobodys"}
        await world.run_pod("imageless", container)
        pod = await world.until("imageless", lambda pod: state(pod).get("waiting", {}).get("reason") == "ErrImagePull")
        groups = Path("/sys/fs/cgroup")
        assert list(groups.rglob(f"{pod['metadata']['uid']}*")) == []
        await world.delete_pod("imageless")
        await world.until_gone("imageless")
        assert list(groups.rglob(f"{pod['metadata']['uid']}*")) == []

    play(scene)


@pytest.mark.skipif(find_cgroups() is None, reason="needs control groups that can be written")
def test_a_control_group_that_never_came_to_run_goes_with_its_pod(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        pod = await world.run_pod("running", shell("sleep 60"))
        await world.until("running", is_phase("Running"))
        groups = find_cgroups()
        assert groups is not None
        groups.make(f"{pod['metadata']['uid']}-c-1", Limits(cpu_shares=2))  # by a node that died just then
        await world.delete_pod("running")
        await world.until_gone("running")
        await world.until_true(lambda: groups.list_of(pod["metadata"]["uid"]) == [])

    play(scene)


def test_a_pod_waits_for_a_config_map_and_starts_when_it_comes(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "later", "key": "a"}}}]
        await world.run_pod("waits", shell("echo $A", env=env), restartPolicy="Never")
        reason = "CreateContainerConfigError"
        pod = await world.until("waits", lambda pod: state(pod).get("waiting", {}).get("reason") == reason)
        assert state(pod)["waiting"]["message"] == 'configmap "later" not found'
        await world.create("configmaps", {"metadata": {"name": "later"}, "data": {"a": "here"}})
        pod = await world.until("waits", is_phase("Succeeded"))
        assert world.log(pod) == ["here"]

    play(scene)


def test_nothing_after_a_container_begins_before_its_post_start_hook_is_over(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        first = shell("sleep 60", "first", lifecycle=_post_start("while [ ! -e /shared/open ]; do sleep 0.05; done"))
        pod = await world.run_pod("hooked", first | _shared(), shell("echo second", "c"), **_shared_volume(world))
        await world.until("hooked", lambda pod: "containerID" in status_of(pod, "first"))
        seen = await world.until(
            "hooked", lambda pod: state(pod, "first") == {"waiting": {"reason": "ContainerCreating"}}
        )
        assert seen["status"]["phase"] == "Pending"
        assert world.log(pod) == []
        (world.directory / "shared" / "open").touch()
        await world.until_log(pod, "second")
        await world.delete_pod("hooked")
        await world.until_gone("hooked")

    play(scene)


def test_a_failing_post_start_hook_ends_its_container(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        await world.run_pod(
            "unhooked", shell("sleep 60", lifecycle=_post_start("echo no; exit 1")), restartPolicy="Never"
        )
        await world.until("unhooked", is_phase("Failed"))
        await world.until_event("unhooked", "FailedPostStartHook", "exited with 1: no")

    play(scene)


def test_the_pre_stop_hook_runs_before_the_container_is_told_to_end(play: Play) -> None:
    async def scene(world: NodeWorld) -> None:
        hook = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "echo hook >> /shared/ends; sleep 0.3"]}}}
        script = "trap 'echo term >> /shared/ends; exit 0' TERM; echo up; while :; do sleep 0.05; done"
        container = shell(script, lifecycle=hook, **_shared())
        pod = await world.run_pod("goodbye", container, terminationGracePeriodSeconds=20, **_shared_volume(world))
        await world.until_log(pod, "up")
        await world.delete_pod("goodbye")
        await world.until_gone("goodbye")
        assert (world.directory / "shared" / "ends").read_text().split() == ["hook", "term"]

    play(scene)


def _post_start(script: str) -> dict[str, Any]:
    return {"postStart": {"exec": {"command": ["/bin/sh", "-c", script]}}}


def _shared() -> dict[str, Any]:
    return {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}


def _shared_volume(world: NodeWorld) -> dict[str, Any]:
    """A directory that the test sees too."""
    path = str(world.directory / "shared")
    return {"volumes": [{"name": "shared", "hostPath": {"path": path, "type": "DirectoryOrCreate"}}]}
