"""``kubectl top``: what the node tells of its Pods, and nothing of those without a container that runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from embedded.node_connections.running import PODS, NodeServer, node_server

pytestmark = pytest.mark.skipif(which("kubectl") is None, reason="kubectl is not installed")

NODES = "/api/v1/nodes"


def pod(name: str, team: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"team": team}},
        "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]},
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeServer]:
    with node_server(tmp_path_factory.mktemp("top")) as running:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
        running.do(running._ask("POST", NODES, node))
        capacity = {"cpu": "4", "memory": "4Gi"}
        running.do(running._ask("PATCH", f"{NODES}/n/status", {"status": {"allocatable": capacity}}))
        running.do(running._ask("POST", PODS, pod("busy", "x")))
        running.do(running._ask("POST", PODS, pod("idle", "y")))
        running.node.summary = {"window": 1.5, "pods": [_use(running, "busy", 1500, 300), _use(running, "idle", 0, 20)]}
        yield running


def _use(served: NodeServer, name: str, millis: int, mebibytes: int) -> dict[str, Any]:
    """Twice: in each of its two containers."""
    found = json.loads(served.kubectl("get", "pod", name, "-o", "json").stdout)
    used = {"cpu": {"usageNanoCores": millis * 1_000_000}, "memory": {"workingSetBytes": mebibytes << 20}}
    containers = [{"name": each, **used} for each in ("a", "b")]
    return {"podRef": {"uid": found["metadata"]["uid"]}, "containers": containers}


def rows(served: NodeServer, *arguments: str) -> list[list[str]]:
    done = served.kubectl("top", *arguments)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.decode().splitlines()]


def test_pods_show_what_their_containers_use_together(served: NodeServer) -> None:
    assert rows(served, "pods") == [
        ["NAME", "CPU(cores)", "MEMORY(bytes)"],
        ["busy", "3000m", "600Mi"],
        ["idle", "0m", "40Mi"],
    ]
    assert rows(served, "pods", "-l", "team=y")[1:] == [["idle", "0m", "40Mi"]]
    assert rows(served, "pod", "busy", "--containers")[1:] == [
        ["busy", "a", "1500m", "300Mi"],
        ["busy", "b", "1500m", "300Mi"],
    ]
    assert rows(served, "pods", "-A", "--sort-by=cpu")[1][:2] == ["default", "busy"]


def test_a_node_uses_what_its_pods_use(served: NodeServer) -> None:
    assert rows(served, "nodes")[1:] == [["n", "3000m", "75%", "640Mi", "15%"]]


def test_a_pod_of_which_nothing_runs_has_no_metrics(served: NodeServer) -> None:
    done = served.kubectl("top", "pod", "p")
    assert done.returncode == 1
    assert b'pods.metrics.k8s.io "p" not found' in done.stderr


def test_the_group_is_listed_and_can_only_be_read(served: NodeServer) -> None:
    listed = served.kubectl("api-resources", "--api-group=metrics.k8s.io", "--no-headers", "-o", "wide").stdout.decode()
    assert [line.split()[-2:] for line in listed.splitlines()] == [
        ["NodeMetrics", "get,list"],
        ["PodMetrics", "get,list"],
    ]
    raw = served.kubectl("get", "--raw", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/busy")
    assert json.loads(raw.stdout)["window"] == "1.500s"
    assert served.kubectl("delete", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes/n").returncode == 1
    assert served.kubectl("get", "--raw", "/apis/metrics.k8s.io/v1beta1/namespaces/default/nodes").returncode == 1


def test_plain_names_still_mean_the_objects_themselves(served: NodeServer, tmp_path: Path) -> None:
    assert served.kubectl("get", "pods,nodes", "-o", "name").stdout.decode().split() == [
        "pod/busy",
        "pod/idle",
        "pod/p",
        "node/n",
    ]


def test_whoever_has_no_right_to_it_is_refused(served: NodeServer) -> None:
    done = served.kubectl("top", "pods", "--as=nobody")
    assert b'cannot list resource "pods" in API group "metrics.k8s.io"' in done.stderr
