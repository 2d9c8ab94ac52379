"""What starts redis-server as its image does: clients of other Pods are answered, unless somebody says otherwise."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from heliostat.embedded.node.imaging.stand_ins import write_stand_ins

FAKE = '#!/bin/sh\nfor word in "$@"; do printf "[%s]" "$word"; done\n'


@pytest.fixture
def path(tmp_path: Path) -> str:
    """PATH of a container: the image's own directory, then one with a program that prints what it is told."""
    write_stand_ins(tmp_path / "programs")
    real = tmp_path / "bin" / "redis-server"
    real.parent.mkdir()
    real.write_text(FAKE)
    real.chmod(0o755)
    return f"{tmp_path}/programs/redis:{real.parent}:/usr/bin:/bin"


def run(path: str, *arguments: str) -> str:
    program = shutil.which("redis-server", path=path)
    assert program is not None
    done = subprocess.run([program, *arguments], env={"PATH": path}, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "[--protected-mode][no]"),
        (("--requirepass", "a b"), "[--protected-mode][no][--requirepass][a b]"),
        (("--protected-mode", "yes"), "[--protected-mode][no][--protected-mode][yes]"),  # the last one counts
        (("--version",), "[--version]"),
        (("/nowhere.conf", "--port", "7"), "[/nowhere.conf][--protected-mode][no][--port][7]"),
        (("-", "--port", "7"), "[-][--protected-mode][no][--port][7]"),
    ],
)
def test_protected_mode_is_off_before_anything_else_is_said(path: str, arguments: tuple[str, ...], told: str) -> None:
    assert run(path, *arguments) == told


@pytest.mark.parametrize(
    ("line", "is_asked"), [("protected-mode yes", True), ("# protected-mode yes", False), ("port 7", False)]
)
def test_a_file_that_speaks_of_it_is_obeyed(path: str, tmp_path: Path, line: str, is_asked: bool) -> None:
    file = tmp_path / "redis.conf"
    file.write_text(f"bind 0.0.0.0\n{line}\n")
    assert ("--protected-mode" not in run(path, str(file))) == is_asked


def test_a_machine_without_redis_says_so(tmp_path: Path) -> None:
    write_stand_ins(tmp_path)
    env = {"PATH": f"{tmp_path}/redis"}
    done = subprocess.run([tmp_path / "redis" / "redis-server"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert "apt-get install redis-server" in done.stderr


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed: apt-get install it")
def test_the_real_server_says_that_its_protected_mode_is_off(tmp_path: Path) -> None:
    write_stand_ins(tmp_path)
    socket_path = tmp_path / "redis.sock"
    arguments = ["--port", "0", "--unixsocket", str(socket_path), "--dir", str(tmp_path)]
    with subprocess.Popen([tmp_path / "redis" / "redis-server", *arguments], stdout=subprocess.DEVNULL) as server:
        try:
            assert _ask(socket_path, "CONFIG GET protected-mode").endswith("$2\r\nno\r\n")
        finally:
            server.terminate()


def _ask(path: Path, command: str) -> str:
    deadline = time.monotonic() + 20
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(path))
        client.sendall(f"{command}\r\n".encode())
        return client.recv(4096).decode()
