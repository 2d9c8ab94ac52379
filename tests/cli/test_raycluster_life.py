"""The life of a RayCluster by hand: apply, explain, get, delete, with the operator and simulated nodes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cli.ray_kubernetes import operator_in_thread
from cli.typed_commands import Commands, example, write
from embedded.processes.running import wait_until
from heliostat.testing import ApiServer, api_server_in_thread


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server_in_thread(nodes=1) as running, operator_in_thread(running.kubeconfig) as problems:
        yield running
        assert problems == []


@pytest.fixture
def run(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(server.kubeconfig, capsys)


def test_from_apply_over_explain_and_get_to_delete(run: Commands, tmp_path: Path) -> None:
    file = write(tmp_path, example("life"))
    assert run("apply", "-f", file) == (0, "raycluster.ray.io/life created\n", "")
    wait_until(lambda: run("explain", "raycluster/life")[0] == 0, lambda: run("explain", "raycluster/life")[1])
    _code, out, _err = run("explain", "raycluster", "life")
    assert out.startswith("RayCluster default/life is ready: 1 head and 1 worker\n")
    assert "node-0" in out
    code, out, _err = run("get")
    assert code == 0
    assert "RayCluster default/life: ready, 1 of 1 workers" in out
    assert "life-head-" in out
    code, out, _err = run("delete", "-f", file)
    assert (code, out.splitlines()[-1]) == (0, "raycluster.ray.io/life is gone")
    assert run("get", "pods", "-l", "ray.io/cluster=life") == (0, "", "no pods in namespace default\n")


def test_a_cluster_that_asks_too_much_is_explained(run: Commands, tmp_path: Path) -> None:
    gpus = example("greedy", resources={"limits": {"nvidia.com/gpu": "4", "cpu": "1", "memory": "1Gi"}})
    assert run("apply", "-f", write(tmp_path, gpus))[0] == 0
    wait_until(lambda: "Insufficient" in run("explain", "raycluster/greedy")[1], "the scheduler says nothing")
    code, out, _err = run("explain", "raycluster/greedy")
    assert code == 1
    assert "of group workers is not ready: Unschedulable" in out
    assert "why: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu." in out
    assert "fix: ask for less" in out
    pod = next(word for word in out.split() if word.startswith("greedy-workers-worker-"))
    assert run("explain", f"pod/{pod}")[1].startswith(f"Pod default/{pod} is not ready\n")
    assert run("delete", "raycluster/greedy", "--no-wait") == (0, "raycluster.ray.io/greedy deleted\n", "")


def test_a_quota_in_the_way_is_explained(run: Commands, tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "1"}},
    }
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tight"}}
    file = write(tmp_path, "---\n".join(yaml.safe_dump(each) for each in (quota, space, example("tight"))))
    code, out, _err = run("apply", "-f", file, "-n", "tight")
    assert code == 0
    assert out.splitlines()[0] == "namespace/tight created"

    def told() -> str:
        return run("explain", "raycluster/tight", "-n", "tight")[1]

    wait_until(lambda: "exceeded quota" in told(), told)
    assert "fix: raise the ResourceQuota of the namespace, or ask for less" in told()
