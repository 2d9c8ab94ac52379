"""exec and logs as a person types them, against a server whose node runs commands as processes of this machine."""

import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path

import pytest

from cli.typed_commands import Commands, example, write
from embedded.node_connections.running import PODS, NodeServer, node_server
from embedded.processes.running import HELIOSTAT, PATIENCE, wait_until

pytestmark = pytest.mark.slow

RAY_HEAD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "demo-head-x", "labels": {"ray.io/cluster": "demo", "ray.io/node-type": "head"}},
    "spec": {"nodeName": "n", "containers": [{"name": "ray-head", "image": "a"}, {"name": "autoscaler", "image": "a"}]},
}
WAITING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "waiting"},
    "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "a"}]},
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeServer]:
    with node_server(tmp_path_factory.mktemp("node")) as running:
        running.do(running._ask("POST", PODS, RAY_HEAD))
        running.do(running._ask("PATCH", f"{PODS}/demo-head-x/status", {"status": {"phase": "Running"}}))
        running.do(running._ask("POST", PODS, WAITING))
        homeless = {"metadata": {"name": "homeless"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        running.do(running._ask("POST", PODS, WAITING | homeless))
        yield running


@pytest.fixture
def run(served: NodeServer, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(served.kubeconfig, capsys)


def execute(served: NodeServer, *arguments: str, data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    command = [HELIOSTAT, "exec", "--kubeconfig", str(served.kubeconfig), *arguments]
    return subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE, check=False)


class TestExec:
    def test_output_errors_and_exit_code_are_the_commands(self, served: NodeServer) -> None:
        ended = execute(served, "p", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
        assert (ended.returncode, ended.stdout, ended.stderr) == (7, b"out\n", b"err\n")

    def test_input_goes_to_the_command_and_ends(self, served: NodeServer) -> None:
        data = os.urandom(300_000)
        ended = execute(served, "pod/p", "--", "cat", data=data)
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert ended.stdout == data

    def test_a_raycluster_stands_for_its_head(self, served: NodeServer) -> None:
        assert execute(served, "demo", "-c", "autoscaler", "--", "echo", "hi").stdout == b"hi\n"
        assert execute(served, "raycluster/demo", "--", "echo", "-n", "a b").stdout == b"a b"

    def test_a_file_stands_for_the_raycluster_in_it(self, served: NodeServer, tmp_path: Path) -> None:
        file = write(tmp_path, example("demo"))
        for words in ((file,), ("-f", file)):
            assert execute(served, *words, "--", "echo", "-n", "a").stdout == b"a"

    def test_a_command_that_is_not_there(self, served: NodeServer) -> None:
        ended = execute(served, "p", "--", "no-such-program")
        assert ended.returncode == 127
        assert ended.stderr == b'heliostat exec: exec: "no-such-program": executable file not found in $PATH\n'
        assert b"Traceback" not in ended.stderr

    def test_a_terminal_is_one_on_the_other_side_too(self, served: NodeServer) -> None:
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
        command = [HELIOSTAT, "exec", "--kubeconfig", str(served.kubeconfig), "p", "--", "sh", "-c"]
        script = "while [ \"$(stty size)\" != '33 101' ]; do sleep 0.01; done; echo sized; read line; echo got $line"
        wrong = {**os.environ, "COLUMNS": "7", "LINES": "7"}  # what a shell exported before the window changed
        process = subprocess.Popen([*command, script], stdin=theirs, stdout=theirs, stderr=theirs, env=wrong)
        try:
            before = termios.tcgetattr(theirs)
            wait_for(ours, b"sized")
            os.write(ours, b"hello\r")
            wait_for(ours, b"got hello")
            assert process.wait(PATIENCE) == 0
            assert termios.tcgetattr(theirs)[3] == before[3]
        finally:
            end(process)
            os.close(ours)
            os.close(theirs)

    def test_when_the_person_goes_the_command_ends(self, served: NodeServer) -> None:
        command = [HELIOSTAT, "exec", "--kubeconfig", str(served.kubeconfig), "p", "--", "sleep", "600"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE)
        try:
            wait_until(lambda: served.node.running == 1, "the command does not start")
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
            served.wait_idle()
        finally:
            end(process)
            if process.stdin is not None:
                process.stdin.close()

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            (("p",), 2, "no command: write heliostat exec p -- COMMAND"),
            (("p", "-c", "b", "--", "true"), 1, "Pod p has no container 'b'; did you mean a?"),
            (("dem", "--", "true"), 1, "there is no Pod or RayCluster 'dem' in namespace default; did you mean demo?"),
            (("job/x", "--", "true"), 2, "only Pods and RayClusters have containers"),
            (("waiting", "--", "true"), 1, "does not run yet; heliostat explain pod/waiting tells why"),
            (("pod/q", "--", "true"), 1, "there is no Pod 'q' in namespace default"),
        ],
    )
    def test_bad_calls_get_a_sentence(self, run: Commands, arguments: tuple[str, ...], code: int, words: str) -> None:
        found, out, err = run("exec", *arguments)
        assert (found, out) == (code, "")
        assert words in err

    def test_a_person_who_may_not_is_told_so(
        self, served: NodeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        served.grant("reader", "get", "pods")
        config = tmp_path / "kubeconfig"
        config.write_text(served.server.build_kubeconfig("reader", ()).reveal())
        code, _out, err = Commands(config, capsys)("exec", "p", "--", "true")
        assert code == 1
        assert 'User "reader" cannot' in err


class TestLogs:
    def test_without_a_run_before_there_is_no_earlier_log(self, run: Commands) -> None:
        code, _out, err = run("logs", "-p", "raycluster", "demo", "-c", "autoscaler")
        told = "Pod demo-head-x has had no run before this one, so there is no earlier log"
        assert (code, told in err) == (1, True), err

    def test_of_a_pod(self, run: Commands) -> None:
        assert run("logs", "p") == (0, "p/a\n", "")

    def test_of_the_head_of_a_raycluster(self, run: Commands) -> None:
        assert run("logs", "demo") == (0, "demo-head-x/ray-head\n", "")
        assert run("logs", "raycluster/demo", "-c", "autoscaler")[1] == "demo-head-x/autoscaler\n"

    def test_of_the_raycluster_that_a_file_has(self, run: Commands, tmp_path: Path) -> None:
        file = write(tmp_path, example("demo"))
        assert run("logs", file) == run("logs", "--filename", file) == (0, "demo-head-x/ray-head\n", "")

    def test_followed_to_their_end(self, run: Commands) -> None:
        assert run("logs", "p", "-f")[1] == "line 0\nline 1\nline 2\n"

    @pytest.mark.parametrize("arguments", [("--tail", "3"), ("--since", "1h30m"), ("-p",), ("--timestamps",)])
    def test_narrowed(self, run: Commands, arguments: tuple[str, ...]) -> None:
        assert run("logs", "p", *arguments)[0] == 0

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            (("p", "--tail", "-1"), 2, "is not a number of lines"),
            (("p", "--tail", "x"), 2, "is not a number of lines"),
            (("p", "--since", "yesterday"), 2, "is not an age; write it like 30s"),
            (("p", "-c", "zzz"), 1, "Pod p has no container 'zzz'; there are: a"),
            (("homeless",), 1, "has written nothing yet; heliostat explain pod/homeless tells why"),
            (("nothing",), 1, "there is no Pod or RayCluster 'nothing'"),
        ],
    )
    def test_bad_calls_get_a_sentence(self, run: Commands, arguments: tuple[str, ...], code: int, words: str) -> None:
        found, _out, err = run("logs", *arguments)
        assert found == code
        assert words in err


def wait_for(terminal: int, words: bytes) -> None:
    """Until the terminal has shown them."""
    shown, deadline = b"", time.monotonic() + PATIENCE
    while words not in shown:
        readable, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert readable, shown
        shown += os.read(terminal, 4096)


def end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()
