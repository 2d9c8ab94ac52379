"""Sandboxes for real: containers in namespaces of their own, logs, ends, commands inside, and no traces left."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from heliostat.embedded.node.capabilities import decide_capabilities
from heliostat.embedded.node.isolating.sandbox import (
    Executed,
    Sandbox,
    SandboxError,
    SandboxSpec,
    find_sandbox,
    past_runs,
    start_sandbox,
)
from heliostat.embedded.node.shim import executed
from heliostat.embedded.node.shim.container import Streams
from heliostat.embedded.node.shim.journal import Run
from heliostat.embedded.node.shim.protocol import Mount, Order

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")

SECONDS = 30.0


class Pod:
    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._changed = asyncio.Event()
        sandbox.on_change(lambda _run: self._changed.set())

    async def run(self, script: str, id_: str = "c", **fields: Any) -> Run:
        """Start it and wait for its end."""
        await self.start(script, id_, **fields)
        return await self.ended(id_)

    async def start(self, script: str, id_: str = "c", **fields: Any) -> None:
        await self.sandbox.start(self.order(id_, ("/bin/sh", "-c", script), **fields))

    def order(self, id_: str, argv: tuple[str, ...], **fields: Any) -> Order:
        environment = {"PATH": os.environ["PATH"], **fields.pop("environment", {})}
        work = self.sandbox.directory / "containers" / id_
        return Order(
            id_,
            id_,
            argv,
            environment,
            str(work),
            str(self.log_path(id_)),
            **{"capabilities": decide_capabilities(), **fields},
        )

    def log_path(self, id_: str = "c") -> Path:
        return self.sandbox.directory / f"{id_}.log"

    def log(self, id_: str = "c", stream: str = "stdout") -> list[str]:
        lines = [line.split(" ", 3) for line in self.log_path(id_).read_text().splitlines()]
        return [line[3] for line in lines if line[1] == stream]

    async def ended(self, id_: str = "c") -> Run:
        return await self.until(id_, lambda run: run.is_over)

    async def until(self, id_: str, test: Callable[[Run], bool]) -> Run:
        async with asyncio.timeout(SECONDS):
            while (run := self.sandbox.runs().get(id_)) is None or not test(run):
                self._changed.clear()
                await self._changed.wait()
            return run

    async def says(self, text: str, id_: str = "c") -> None:
        async with asyncio.timeout(SECONDS):
            while not self.log_path(id_).exists() or text not in self.log(id_):
                await asyncio.sleep(0.01)


@asynccontextmanager
async def pod(directory: Path) -> AsyncIterator[Pod]:
    place = directory / "pod"
    place.mkdir(exist_ok=True)
    sandbox = await start_sandbox(SandboxSpec(directory=place, hostname="a-pod"))
    try:
        yield Pod(sandbox)
    finally:
        await sandbox.stop()
        await sandbox.close()


def scenario(directory: Path, play: Callable[[Pod], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), pod(directory) as it:
            await play(it)

    asyncio.run(run())


def test_a_container_runs_to_its_end_and_its_words_are_in_the_log(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        run = await it.run("echo out $A; echo err >&2; printf last; exit 3", environment={"A": "b"})
        assert (run.exit_code, run.signal, run.error) == (3, 0, "")
        assert run.started_at <= run.finished_at
        assert it.log() == ["out b", "last"]
        assert it.log(stream="stderr") == ["err"]

    scenario(tmp_path, play)


def test_nothing_of_the_host_is_changed_and_what_is_written_stays_within_the_container(tmp_path: Path) -> None:
    name = f"/heliostat-{os.getpid()}"

    async def play(it: Pod) -> None:
        await it.run(f"echo mine > {name}; cat {name}; echo x > /tmp/x; echo x > /usr/local/heliostat-x; ls /tmp")
        assert it.log() == ["mine", "x"]
        await it.run(f"cat {name} || echo none", "other")
        assert it.log("other") == ["none"]

    scenario(tmp_path, play)
    assert not Path(name).exists()
    assert not Path("/usr/local/heliostat-x").exists()


def test_it_has_a_network_host_name_and_processes_of_its_own(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        await it.run("hostname; ls /proc | grep -c '^[0-9]'; cat /proc/net/dev | wc -l")
        hostname, processes, lines = it.log()
        assert hostname == "a-pod"
        assert int(processes) < 10
        assert int(lines) == 3  # two lines of titles, and lo
        assert Path(f"/proc/{it.sandbox.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()

    scenario(tmp_path, play)
    assert socket.gethostname() != "a-pod"


def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        run = await it.run("setsid sleep 1000 & echo left; exit 0")
        assert run.exit_code == 0
        assert it.log() == ["left"]
        await it.run("cat /proc/[0-9]*/comm", "look")
        assert "sleep" not in it.log("look")

    scenario(tmp_path, play)


def test_volumes_are_bound_where_they_are_wanted_also_through_links(tmp_path: Path) -> None:
    volume, memory, secret = tmp_path / "volume", tmp_path / "memory", tmp_path / "secret"
    volume.mkdir()
    memory.mkdir()
    secret.write_text("s3cret")
    mounts = (
        Mount(str(volume), "/var/run/data"),  # /var/run is a link to /run
        Mount(str(secret), "/etc/secret", is_read_only=True),
        Mount(str(memory), "/cache", kind="memory", size=1 << 20),
    )

    async def play(it: Pod) -> None:
        await it.run(
            "echo kept > /var/run/data/file; cat /etc/secret; echo; echo x 2>/dev/null > /etc/secret || echo denied;"
            " head -c 2000000 /dev/zero > /cache/big || echo full",
            mounts=mounts,
        )
        assert it.log() == ["s3cret", "denied", "full"]

    scenario(tmp_path, play)
    assert (volume / "file").read_text() == "kept\n"
    assert list(memory.iterdir()) == []
    assert secret.read_text() == "s3cret"


def test_a_volume_in_memory_is_one_for_all_containers_and_nobody_else(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    memory.chmod(0o777)
    whole = Mount(str(memory), "/shared", kind="memory", size=1 << 20)
    part = Mount(str(memory), "/part", kind="memory", size=1 << 20, inside="deep/er")
    led_out = Mount(str(memory), "/part", kind="memory", size=1 << 20, inside="out/etc")

    async def play(it: Pod) -> None:
        await it.run("echo words > /shared/file; ln -s / /shared/out", "first", mounts=(whole,))
        await it.run("cat /shared/file; stat -c %a /shared", "second", mounts=(whole,))
        await it.run("echo deeper > /part/file; ls /part", "third", mounts=(part,))
        await it.run("cat /shared/deep/er/file", "fourth", mounts=(whole,))
        await it.run("ls /part | wc -l", "fifth", mounts=(led_out,))
        await it.run("head -c 2000000 /dev/zero > /shared/big || echo full", "sixth", mounts=(whole,))
        logs = {name: it.log(name) for name in ("second", "third", "fourth", "fifth", "sixth")}
        assert logs == {
            "second": ["words", "777"],
            "third": ["file"],
            "fourth": ["deeper"],
            "fifth": ["0"],
            "sixth": ["full"],
        }

    scenario(tmp_path, play)
    assert list(memory.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "exit_code", "words"),
    [
        (("no-such-program",), 127, "'no-such-program' was not found in PATH"),
        (("/no/such/program",), 127, "'/no/such/program' does not exist"),
        (("/etc/passwd",), 126, "'/etc/passwd' could not be started: Permission denied"),
    ],
)
def test_a_command_that_cannot_be_started_says_why(
    tmp_path: Path, argv: tuple[str, ...], exit_code: int, words: str
) -> None:
    async def play(it: Pod) -> None:
        await it.sandbox.start(it.order("c", argv))
        run = await it.ended()
        assert run.exit_code == exit_code
        assert words in run.error

    scenario(tmp_path, play)


def test_a_volume_that_is_not_there_says_so(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        run = await it.run("true", mounts=(Mount("/no/such/volume", "/data"),))
        assert run.exit_code == 128
        assert "/no/such/volume" in run.error

    scenario(tmp_path, play)


def test_signals_reach_the_program_and_kill_ends_what_ignores_them(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        await it.start('trap "echo bye; exit 7" TERM; echo up; while :; do sleep 0.05; done', "polite")
        await it.says("up", "polite")
        await it.sandbox.signal("polite", signal.SIGTERM)
        assert (await it.ended("polite")).exit_code == 7
        assert it.log("polite") == ["up", "bye"]
        await it.start('trap "" TERM; echo up; while :; do sleep 0.05; done', "stubborn")
        await it.says("up", "stubborn")
        await it.sandbox.signal("stubborn", signal.SIGTERM)
        await it.sandbox.signal("stubborn", signal.SIGKILL)
        run = await it.ended("stubborn")
        assert (run.exit_code, run.signal) == (137, signal.SIGKILL)

    scenario(tmp_path, play)


def test_a_signal_that_comes_at_once_is_not_lost(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        await it.start("sleep 1000")
        await it.sandbox.signal("c", signal.SIGKILL)
        assert (await it.ended()).signal == signal.SIGKILL

    scenario(tmp_path, play)


async def execute(it: Pod, *argv: str, id_: str = "c") -> tuple[Executed, str]:
    read, write = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        asked = asyncio.ensure_future(it.sandbox.execute(id_, argv, (nothing, write, write), environment={"X": "y"}))
        executed = await asked
        os.close(write)
        return executed, os.read(read, 65536).decode()
    finally:
        os.close(read)
        os.close(nothing)


def test_commands_run_inside_the_container(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        await it.start("echo hidden > /only-here; echo up; sleep 1000")
        await it.says("up")
        executed, words = await execute(it, "sh", "-c", "cat /only-here; echo $X; hostname; exit 5")
        assert executed == Executed(5)
        assert words.splitlines() == ["hidden", "y", "a-pod"]
        missing, _ = await execute(it, "no-such-program")
        assert missing.exit_code == 127
        assert "not found" in missing.why
        with pytest.raises(SandboxError, match="not running"):
            await execute(it, "true", id_="nobody")

    scenario(tmp_path, play)


def test_a_program_may_be_another_user_and_never_has_all_rights(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        await it.run("id -u; id -g; id -G", user=1234, group=2345, groups=(3456,))
        assert it.log() == ["1234", "2345", "2345 3456"]
        await it.run("mount -t tmpfs none /mnt 2>/dev/null || echo refused", "root")
        assert it.log("root") == ["refused"]

    scenario(tmp_path, play)


def test_long_lines_are_cut_and_large_logs_turned_over(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        await it.run(
            "head -c 40000 /dev/zero | tr '\\0' x; echo; for i in 1 2 3; do echo line $i; done", log_bytes=20_000
        )
        rotated = Path(f"{it.log_path()}.1").read_text().splitlines()
        now = it.log_path().read_text().splitlines()
        assert [line.split(" ")[2] for line in (*rotated, *now)] == ["P", "P", "F", "F", "F", "F"]
        assert now[-1].endswith("line 3")

    scenario(tmp_path, play)


def test_the_pod_outlives_the_node_and_is_found_again_with_all_that_happened(tmp_path: Path) -> None:
    async def first_life() -> int:
        place = tmp_path / "pod"
        place.mkdir()
        sandbox = await start_sandbox(SandboxSpec(directory=place, hostname="a-pod"))
        it = Pod(sandbox)
        await it.start("sleep 1000", "long")
        await it.start("exit 9", "short")
        await it.ended("short")
        await sandbox.close()
        return sandbox.pid

    async def second_life(pid: int) -> None:
        sandbox = await find_sandbox(tmp_path / "pod")
        assert sandbox is not None
        assert sandbox.pid == pid
        runs = sandbox.runs()
        assert runs["short"].exit_code == 9
        assert not runs["long"].is_over
        it = Pod(sandbox)
        await it.start("sleep 1000", "long")  # asked again: it is not doubled
        await sandbox.signal("long", signal.SIGTERM)
        assert (await it.ended("long")).signal == signal.SIGTERM
        await sandbox.stop()
        await sandbox.close()
        assert await find_sandbox(tmp_path / "pod") is None
        assert past_runs(tmp_path / "pod")["short"].exit_code == 9

    pid = asyncio.run(first_life())
    asyncio.run(second_life(pid))


def test_stopping_leaves_no_process_and_no_mount(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        await it.start("sleep 4321 & echo up; sleep 4321")
        await it.says("up")

    scenario(tmp_path, play)
    listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 4321" not in listed
    assert str(tmp_path) not in listed
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


def test_the_name_of_the_directory_may_be_longer_than_that_of_a_socket(tmp_path: Path) -> None:
    place = tmp_path / ("d" * 200)
    place.mkdir()

    async def play(it: Pod) -> None:
        assert (await it.run("exit 4")).exit_code == 4

    scenario(place, play)


def test_the_shim_needs_nothing_but_the_standard_library() -> None:
    program = "import heliostat.embedded.node.shim.main, sys; print(' '.join(m for m in sys.modules if 'msgspec' in m))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


def test_many_containers_that_end_at_once_are_all_told_with_their_exit_codes(tmp_path: Path) -> None:
    async def play(it: Pod) -> None:
        async with asyncio.TaskGroup() as group:
            runs = [group.create_task(it.run(f"exit {number % 5}", f"c{number}")) for number in range(40)]
        assert [run.result().exit_code for run in runs] == [number % 5 for number in range(40)]

    scenario(tmp_path, play)


def test_a_command_that_comes_too_late_hears_so_in_a_sentence(tmp_path: Path) -> None:
    """Between the look at the container and the command in it the container may end."""
    order = Order("run", "web", ("true",), {}, str(tmp_path), str(tmp_path / "log"))
    nothing = os.open(os.devnull, os.O_RDWR)
    begun = executed.begin(order, 2**22 + 1, Streams(nothing, nothing, nothing))  # a PID that no kernel gives
    os.close(nothing)
    with os.fdopen(begun.told) as told:
        assert told.read() == "failed the container web ended before the command could run in it\n"
    os.waitpid(begun.pid, 0)


def test_no_link_in_a_volume_leads_a_mount_to_the_host(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    volume.chmod(0o770)
    (volume / "out").symlink_to("/etc")

    async def play(it: Pod) -> None:
        mounts = (
            Mount(str(volume), "/part", inside="out/deep"),
            Mount(str(volume), "/whole"),
            Mount(str(volume), "/whole/out/in", inside="other"),  # the way to it is a link of the volume's
        )
        await it.run("ls -ld /part | cut -c1-10; ls /part /whole/etc; ls -d /etc/in", mounts=mounts)
        assert it.log() == ["drwxrwx---", "/part:", "", "/whole/etc:", "deep", "/etc/in"]
        assert not Path("/etc/deep").exists()
        assert not Path("/etc/in").exists()

    scenario(tmp_path, play)


def test_a_directory_of_the_host_does_not_show_what_is_hidden_in_it(tmp_path: Path) -> None:
    (tmp_path / "host" / "state").mkdir(parents=True)
    (tmp_path / "host" / "state" / "kubeconfig").touch()
    (tmp_path / "host" / "other").touch()

    async def play(it: Pod) -> None:
        hidden = (str(tmp_path / "host" / "state"),)
        await it.run("cd /seen; find . | sort", mounts=(Mount(str(tmp_path / "host"), "/seen"),), hidden=hidden)
        assert it.log() == [".", "./other", "./state"]

    scenario(tmp_path, play)
