"""``heliostat expose gateway/NAME`` against a server on which the test plays the gateway."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cli.typed_commands import Commands
from embedded.node_connections.running import NodeServer, node_server
from heliostat.embedded.doors.gateway import (
    API_VERSION,
    GATEWAY,
    GATEWAY_CLASS,
    HOST_PORT,
    build_gateway_class,
    gateway_crds,
)

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GATEWAYS = GATEWAY.collection_path("default")
CLASSES = GATEWAY_CLASS.collection_path()
SINCE = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeServer]:
    with node_server(tmp_path_factory.mktemp("server")) as running:
        for tree in gateway_crds():
            running.do(running._ask("POST", CRDS, tree))
        running.do(running._ask("POST", CLASSES, build_gateway_class()))
        theirs = {"metadata": {"name": "theirs"}, "spec": {"controllerName": "example.com/theirs"}}
        running.do(running._ask("POST", CLASSES, {**build_gateway_class(), **theirs}))
        yield running


def make(served: NodeServer, name: str, class_: str = "heliostat") -> None:
    spec = {"gatewayClassName": class_, "listeners": [{"name": "http", "protocol": "HTTP", "port": 80}]}
    tree = {"apiVersion": API_VERSION, "kind": "Gateway", "metadata": {"name": name}, "spec": spec}
    served.do(served._ask("POST", GATEWAYS, tree))


def tell(served: NodeServer, name: str, message: str = "", *addresses: dict[str, str]) -> None:
    condition = {"type": "Programmed", "status": "True", "reason": "Programmed", "message": message}
    status: dict[str, Any] = {"conditions": [{**condition, "lastTransitionTime": SINCE}], "addresses": list(addresses)}
    served.do(served._ask("PATCH", f"{GATEWAYS}/{name}/status", {"status": status}))


def wish_of(served: NodeServer, name: str) -> str | None:
    found = msgspec.json.decode(served.do(served._ask("GET", f"{GATEWAYS}/{name}", {})).body)
    wish: str | None = found["metadata"].get("annotations", {}).get(HOST_PORT)
    return wish


def test_the_address_is_told_and_stays(served: NodeServer, capsys: pytest.CaptureFixture[str]) -> None:
    run = Commands(served.kubeconfig, capsys)
    make(served, "web")
    tell(served, "web", "", {"type": "heliostat.dev/host", "value": "127.0.0.1:9999"})
    code, out, err = run("expose", "gateway/web", "--port=9999", "--background")
    assert (code, out) == (0, "Gateway web answers at http://127.0.0.1:9999\n"), err
    assert wish_of(served, "web") == "9999"


def test_a_port_that_cannot_be_had_is_told_and_not_asked_for_any_more(
    served: NodeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Commands(served.kubeconfig, capsys)
    make(served, "taken")
    tell(served, "taken", "127.0.0.1:8080: Address already in use")
    code, _, err = run("expose", "gateway/taken")
    assert code == 1
    assert "cannot listen on 127.0.0.1:8080: Address already in use; --port names another" in err
    assert wish_of(served, "taken") is None


def test_what_cannot_be_exposed_is_told(served: NodeServer, capsys: pytest.CaptureFixture[str]) -> None:
    run = Commands(served.kubeconfig, capsys)
    make(served, "far", "theirs")
    assert "of class theirs, which example.com/theirs carries out" in run("expose", "gateway/far")[2]
    assert "did you mean far?" in run("expose", "gateway/fra")[2]
    assert "gateway/NAME" in run("expose", "secret/x")[2]
