"""kubectl port-forward, over both of the ways that it knows."""

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import pytest

from embedded.node_connections.echoing import closed_port, echo_server, say
from embedded.node_connections.running import NodeServer
from embedded.processes.running import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(which("kubectl") is None, reason="kubectl is not installed")]

WAYS = {
    "websocket": {"KUBECTL_PORT_FORWARD_WEBSOCKETS": "true"},
    "spdy": {"KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"},
}
SPOKEN = {"websocket": "websocket", "spdy": "SPDY/3.1"}
AT_ONCE = 8
MUCH = 20_000_000  # bytes


class Forwarding:
    def __init__(self, process: "subprocess.Popen[bytes]", said: Path) -> None:
        self.process = process
        self._said = said

    def said(self) -> str:
        return self._said.read_text()

    def port_to(self, remote: int) -> int:
        """The local port that leads there."""
        pattern = re.compile(rf"Forwarding from 127\.0\.0\.1:(\d+) -> {remote}\n")
        wait_until(lambda: pattern.search(self.said()) is not None, self.said)
        found = pattern.search(self.said())
        assert found is not None
        return int(found[1])


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, served: NodeServer) -> Iterator[str]:
    """At the end, that nothing else was spoken."""
    before = len(served.spoken)
    yield request.param
    assert {spoken.split()[0] for spoken in served.spoken[before:]} == {SPOKEN[request.param]}


@contextmanager
def forwarding(served: NodeServer, way: str, folder: Path, *ports: int) -> Iterator[Forwarding]:
    said = folder / "said"
    command = served.command("port-forward", "--address=127.0.0.1", "p", *(f":{port}" for port in ports))
    with said.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=served.environment(WAYS[way]))
    try:
        yield Forwarding(process, said)
    finally:
        process.kill()
        process.wait()


def test_connections_at_once_do_not_mix(served: NodeServer, way: str, tmp_path: Path) -> None:
    with echo_server() as port, forwarding(served, way, tmp_path, port) as forward:
        local = forward.port_to(port)
        texts = [os.urandom(1_000_000) for _ in range(AT_ONCE)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            heard = list(pool.map(lambda text: say(local, text), texts))
    assert heard == texts


def test_much_goes_both_ways(served: NodeServer, way: str, tmp_path: Path) -> None:
    text = os.urandom(1_000_000) * (MUCH // 1_000_000)
    with echo_server() as port, forwarding(served, way, tmp_path, port) as forward:
        assert say(forward.port_to(port), text) == text


def test_one_connection_after_another(served: NodeServer, way: str, tmp_path: Path) -> None:
    with echo_server() as port, forwarding(served, way, tmp_path, port) as forward:
        local = forward.port_to(port)
        assert [say(local, b"%d" % number) for number in range(20)] == [b"%d" % number for number in range(20)]


def test_two_ports(served: NodeServer, way: str, tmp_path: Path) -> None:
    with (
        echo_server() as one,
        echo_server() as two,
        forwarding(served, way, tmp_path, one, two) as forward,
    ):
        assert say(forward.port_to(one), b"one") == b"one"
        assert say(forward.port_to(two), b"two") == b"two"


def test_a_port_where_nobody_listens_is_told(served: NodeServer, way: str, tmp_path: Path) -> None:
    with closed_port() as port, forwarding(served, way, tmp_path, port) as forward:
        with socket.create_connection(("127.0.0.1", forward.port_to(port)), timeout=60) as connection:
            connection.sendall(b"anybody?")
            assert _rest(connection) == b""
        expected = f"error forwarding port {port} to pod p, uid "
        wait_until(lambda: expected in forward.said(), forward.said)
        assert "failed to connect to localhost" in forward.said()
        wait_until(lambda: forward.process.poll() is not None, forward.said)
        assert "lost connection to pod" in forward.said()


def _rest(connection: socket.socket) -> bytes:
    try:
        return connection.recv(100)
    except ConnectionResetError:
        return b""
