"""kubectl itself, over both of the ways that it knows: exec, a terminal, cp, attach."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which

import pytest

from embedded.node_connections.running import NodeServer
from embedded.processes.running import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(which("kubectl") is None, reason="kubectl is not installed")]

WAYS = {
    "websocket": {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "true"},
    "spdy": {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"},
}
SPOKEN = {"websocket": "websocket", "spdy": "SPDY/3.1"}
MUCH = 20_000_000  # bytes
INTERRUPTED = "trap 'exit 9' INT; echo up; while :; do sleep 0.05; done"


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, served: NodeServer) -> Iterator[str]:
    """At the end, that nothing else was spoken."""
    before = len(served.spoken)
    yield request.param
    assert {spoken.split()[0] for spoken in served.spoken[before:]} == {SPOKEN[request.param]}


OUTCOMES = [
    ("true", 0, b"", b""),
    ("echo out; echo err >&2", 0, b"out\n", b"err\n"),
    ("exit 3", 3, b"", b"command terminated with exit code 3\n"),
    ("echo out; exit 255", 255, b"out\n", b"command terminated with exit code 255\n"),
]


@pytest.mark.parametrize(("script", "code", "out", "err"), OUTCOMES)
def test_a_command_gives_its_output_and_exit_code(
    served: NodeServer, way: str, script: str, code: int, out: bytes, err: bytes
) -> None:
    done = served.kubectl("exec", "p", "--", "sh", "-c", script, environment=WAYS[way])
    assert (done.returncode, done.stdout, done.stderr) == (code, out, err)


def test_a_command_that_is_not_there_is_told(served: NodeServer, way: str) -> None:
    done = served.kubectl("exec", "p", "--", "no-such-command", environment=WAYS[way])
    assert done.returncode == 1
    assert b"Internal error occurred: error executing command in container: exec: " in done.stderr
    assert b"executable file not found" in done.stderr


def test_much_goes_in(served: NodeServer, way: str) -> None:
    done = served.kubectl("exec", "-i", "p", "--", "sha256sum", data=b"ab" * (MUCH // 2), environment=WAYS[way])
    expected = subprocess.run(["sha256sum"], input=b"ab" * (MUCH // 2), capture_output=True, check=True).stdout
    assert (done.returncode, done.stdout) == (0, expected)


def test_much_comes_out(served: NodeServer, way: str) -> None:
    done = served.kubectl("exec", "p", "--", "head", "-c", str(MUCH), "/dev/zero", environment=WAYS[way])
    assert done.returncode == 0
    assert done.stdout == bytes(MUCH)


def test_input_that_nobody_reads_does_not_keep_the_command(served: NodeServer, way: str) -> None:
    done = served.kubectl("exec", "-i", "p", "--", "sh", "-c", "exit 7", data=bytes(5_000_000), environment=WAYS[way])
    assert (done.returncode, done.stdout) == (7, b"")


def test_cp_copies_in_both_directions(served: NodeServer, way: str, tmp_path: Path) -> None:
    here, there, back = tmp_path / "here", tmp_path / "there", tmp_path / "back"
    for folder in (here, there):
        folder.mkdir()
    (here / "large").write_bytes(os.urandom(3_000_000))
    (here / "small").write_text("small")
    into = served.kubectl("cp", str(here), f"p:{there}", environment=WAYS[way])
    assert into.returncode == 0, into.stderr
    out = served.kubectl("cp", f"p:{there}/here", str(back), environment=WAYS[way])
    assert out.returncode == 0, out.stderr
    assert (back / "large").read_bytes() == (here / "large").read_bytes()
    assert (back / "small").read_text() == "small"


def test_attach_reaches_what_runs(served: NodeServer, way: str) -> None:
    done = served.kubectl("attach", "-i", "p", data=b"hello\n", environment=WAYS[way])
    assert (done.returncode, done.stdout) == (0, b"attached to a\nHELLO\n")


def test_a_log_is_read_and_followed(served: NodeServer) -> None:
    assert served.kubectl("logs", "p").stdout == b"p/a\n"
    assert served.kubectl("logs", "-f", "p").stdout == b"line 0\nline 1\nline 2\n"


class Screen:
    """A terminal in which kubectl runs."""

    def __init__(self, ours: int, process: "subprocess.Popen[bytes]") -> None:
        self._ours = ours
        self._process = process
        self._seen = b""
        os.set_blocking(ours, False)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self._process.send_signal(signal.SIGWINCH)

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text.encode() in self._look(), lambda: f"{text!r} is not in {self._seen!r}")

    def _look(self) -> bytes:
        with suppress(OSError):
            self._seen += os.read(self._ours, 65536)
        return self._seen

    def wait_ended(self) -> int:
        wait_until(lambda: self._look() is None or self._process.poll() is not None, "kubectl goes on")
        return self._process.wait()


@contextmanager
def in_terminal(served: NodeServer, way: str, *arguments: str) -> Iterator[Screen]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    command, env = served.command(*arguments), served.environment({**WAYS[way], "TERM": "xterm"})
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    try:
        yield Screen(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_a_terminal_has_a_size_and_an_end(served: NodeServer, way: str) -> None:
    with in_terminal(served, way, "exec", "-it", "p", "--", "sh") as screen:
        screen.type("test -t 0 && echo is-a-$((1))-terminal\r")
        screen.wait_for("is-a-1-terminal")
        screen.type("stty size\r")
        screen.wait_for("40 100")
        screen.resize(77, 33)
        screen.type("until stty size | grep '33 77'; do :; done\r")
        screen.wait_for("\n33 77")
        screen.type("exit 4\r")
        screen.wait_for("command terminated with exit code 4")
        assert screen.wait_ended() == 4


def test_control_c_reaches_the_command(served: NodeServer, way: str) -> None:
    with in_terminal(served, way, "exec", "-it", "p", "--", "sh", "-c", INTERRUPTED) as screen:
        screen.wait_for("up")
        screen.type("\x03")
        assert screen.wait_ended() == 9


def test_a_client_that_goes_ends_its_command(served: NodeServer, way: str) -> None:
    stopped = served.node.cancelled
    command = served.command("exec", "p", "--", "sh", "-c", "echo up; exec sleep 600")
    env = served.environment(WAYS[way])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert served.node.running == 1
        process.kill()
    served.wait_idle()
    assert served.node.cancelled == stopped + 1
