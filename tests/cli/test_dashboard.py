"""``heliostat dashboard`` against a server whose node forwards ports of this machine: the address works, and ends."""

import re
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cli.typed_commands import Commands, example
from embedded.node_connections.running import PODS, NodeServer, node_server
from embedded.processes.running import HELIOSTAT, PATIENCE
from heliostat.api.crds import all_crds

pytestmark = pytest.mark.slow

CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
PAGE = b"the dashboard " * 50_000


class Dashboard(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # the library's name for it
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_words: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def dashboard_port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Dashboard) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def served(tmp_path: Path, dashboard_port: int) -> Iterator[NodeServer]:
    with node_server(tmp_path) as running:
        definition = next(tree for tree in all_crds(slim=True) if tree["spec"]["names"]["kind"] == "RayCluster")
        running.do(running._ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition))
        running.do(running._ask("POST", CLUSTERS, example("demo")))
        running.do(running._ask("POST", PODS, build_head(dashboard_port)))
        yield running


def build_head(port: int) -> dict[str, object]:
    labels = {"ray.io/cluster": "demo", "ray.io/node-type": "head"}
    container = {"name": "ray-head", "image": "a", "ports": [{"name": "dashboard", "containerPort": port}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "demo-head-x", "labels": labels},
        "spec": {"nodeName": "n", "containers": [container]},
    }


@contextmanager
def opened(served: NodeServer, *arguments: str) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    command = [HELIOSTAT, "dashboard", "demo", "--no-browser", "--kubeconfig", str(served.kubeconfig), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"dashboard of RayCluster demo: (http://127\.0\.0\.1:\d+) \(until Ctrl-C\)\n", line)
        assert found is not None, line
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:  # noqa: S310  our own address
        content: bytes = answer.read()
    return content


def test_the_address_leads_to_the_head_and_ends_with_the_cluster(served: NodeServer) -> None:
    with opened(served) as (process, address):
        assert fetch(address) == PAGE
        assert fetch(address) == PAGE
        served.do(served._ask("DELETE", f"{CLUSTERS}/demo", {}))
        assert process.wait(PATIENCE) == 0


def test_a_cluster_without_a_head_tells_the_browser_why(served: NodeServer) -> None:
    with opened(served) as (_process, address):
        served.do(served._ask("DELETE", f"{PODS}/demo-head-x", {"gracePeriodSeconds": 0}))
        with pytest.raises(urllib.error.HTTPError) as refused:
            fetch(address)
        assert refused.value.code == 503
        assert b"has no head Pod now" in refused.value.read()


def test_a_port_that_is_taken(served: NodeServer, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        port = other.getsockname()[1]
        code, _out, err = Commands(served.kubeconfig, capsys)("dashboard", "demo", f"--port={port}")
    assert code == 1
    assert (
        err == f"heliostat dashboard: cannot listen on 127.0.0.1:{port}: Address already in use; --port names another\n"
    )


def test_another_kind_has_none(served: NodeServer, capsys: pytest.CaptureFixture[str]) -> None:
    code, _out, err = Commands(served.kubeconfig, capsys)("dashboard", "pod/demo-head-x")
    assert code == 2
    assert "write NAME or raycluster/NAME" in err
