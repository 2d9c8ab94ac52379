"""``expose`` and ``get -w`` of a RayService, against a server whose node forwards ports of this machine."""

import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.typed_commands import Commands, example
from embedded.node_connections.running import PODS, NodeServer, node_server
from embedded.processes.running import HELIOSTAT, PATIENCE
from heliostat.api.crds import all_crds

pytestmark = pytest.mark.slow

SERVICES = "/apis/ray.io/v1/namespaces/default/rayservices"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
Tree = dict[str, Any]


@contextmanager
def answering(words: bytes) -> Iterator[int]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name for it
            self.send_response(200)
            self.send_header("Content-Length", str(len(words)))
            self.end_headers()
            self.wfile.write(words)

        def log_message(self, *_words: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[NodeServer]:
    with node_server(tmp_path) as running:
        for tree in all_crds(slim=True):
            if tree["spec"]["names"]["kind"] in ("RayCluster", "RayService"):
                running.do(running._ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", tree))
        spec = {"rayClusterConfig": example("any")["spec"], "serveConfigV2": ""}
        service = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "stand"}, "spec": spec}
        running.do(running._ask("POST", SERVICES, service))
        yield running


def point_to(served: NodeServer, pod: str, port: int, version: str, serve_service: str = "stand-serve-svc") -> None:
    """The serve Service has this Pod alone behind it."""
    tree = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "stand", "labels": {"kubernetes.io/service-name": serve_service}},
        "addressType": "IPv4",
        "ports": [{"name": "other", "port": 1}, {"name": "serve", "port": port}],
        "endpoints": [
            {"addresses": ["10.0.0.8"], "conditions": {"ready": False}, "targetRef": {"kind": "Pod", "name": "not"}},
            {"addresses": ["10.0.0.7"], "conditions": {"ready": True}, "targetRef": {"kind": "Pod", "name": pod}},
        ],
    }
    if version == "first":
        served.do(served._ask("POST", SLICES, tree))
    else:
        served.do(served._ask("PATCH", f"{SLICES}/stand", tree))


@contextmanager
def exposed(served: NodeServer) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    command = [HELIOSTAT, "expose", "stand", "--port=0", "--kubeconfig", str(served.kubeconfig)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"RayService stand answers at (http://127\.0\.0\.1:\d+) \(until Ctrl-C\)\n", line)
        assert found is not None, line
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:  # noqa: S310  our own address
        content: bytes = answer.read()
    return content


def test_the_address_follows_the_service_and_ends_with_it(served: NodeServer) -> None:
    with answering(b"one") as one, answering(b"two") as two:
        point_to(served, "p", one, "first")
        with exposed(served) as (process, address):
            assert fetch(address) == b"one"
            point_to(served, "p", two, "second")
            assert fetch(address) == b"two"
            served.do(served._ask("DELETE", f"{SLICES}/stand", {}))
            with pytest.raises(urllib.error.HTTPError) as refused:
                fetch(address)
            assert b"heliostat explain rayservice/stand tells why" in refused.value.read()
            served.do(served._ask("DELETE", f"{SERVICES}/stand", {}))
            assert process.wait(PATIENCE) == 0


def test_where_requests_move_in_steps_the_address_leads_to_the_cluster_that_gets_most(served: NodeServer) -> None:
    shares = {"activeServiceStatus": ("stand-a", 25), "pendingServiceStatus": ("stand-b", 75)}
    status = {slot: {"rayClusterName": name, "trafficRoutedPercent": share} for slot, (name, share) in shares.items()}
    served.do(served._ask("PATCH", f"{SERVICES}/stand/status", {"status": status}))
    with answering(b"b") as port:
        point_to(served, "p", port, "first", "stand-b-serve-svc")
        with exposed(served) as (_process, address):
            assert fetch(address) == b"b"


def test_a_service_that_nobody_answers_for_and_another_kind(
    served: NodeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Commands(served.kubeconfig, capsys)
    code, _out, err = run("expose", "stand")
    assert code == 1
    assert "no Pod of RayService stand takes requests now" in err
    assert "did you mean stand?" in run("expose", "stnad")[2]
    assert run("expose", "pod/p")[0] == 2


def test_a_service_is_watched_until_it_is_gone(served: NodeServer) -> None:
    command = [HELIOSTAT, "get", "rayservice/stand", "-w", "--kubeconfig", str(served.kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "… RayService stand: starts\n"
        conditions = [{"type": "Ready", "status": "True", "reason": "a", "message": ""}]
        stamped = [{**each, "lastTransitionTime": "2026-01-01T00:00:00Z"} for each in conditions]
        status = {"conditions": stamped, "numServeEndpoints": 2, "activeServiceStatus": {"rayClusterName": "stand-a"}}
        served.do(served._ask("PATCH", f"{SERVICES}/stand/status", {"status": status}))
        assert process.stdout.readline() == "✓ RayService stand: ready, 2 Pods answer requests\n"
        assert "RayCluster stand-a (active): 100 % of the requests" in process.stdout.readline()
        served.do(served._ask("DELETE", f"{SERVICES}/stand", {}))
        assert process.stdout.readline() == "RayService stand is gone\n"
        assert process.wait(PATIENCE) == 0


def test_any_table_can_be_watched_and_only_tables(served: NodeServer, capsys: pytest.CaptureFixture[str]) -> None:
    command = [HELIOSTAT, "get", "pods", "-w", "--kubeconfig", str(served.kubeconfig)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().split()[0] == "NAME"
        assert process.stdout.readline().split()[0] == "p"
        another = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "another"}}
        spec = {"nodeName": "n", "containers": [{"name": "a", "image": "a"}]}
        served.do(served._ask("POST", PODS, {**another, "spec": spec}))
        until = time.monotonic() + PATIENCE
        while "another" not in process.stdout.readline():
            assert time.monotonic() < until
    finally:
        process.kill()
        process.communicate()
    for wrong in (("pods", "-w", "-o", "yaml"), ("-w",), ("pods", "-w", "--all")):
        code, _out, err = Commands(served.kubeconfig, capsys)("get", *wrong)
        assert code == 2
        assert "-w shows a table" in err
