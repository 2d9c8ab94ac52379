"""Workers that come and go: none too many while one takes long to end, and slices whose hosts belong together."""

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.clusters import RealCluster, build_cluster, build_group, needs_real_ray
from e2e.local_machine import local_machine

pytestmark = needs_real_ray

REPLICA = "ray.io/worker-group-replica-name"
INDEX = "ray.io/worker-group-replica-index"
HOST = "ray.io/replica-host-index"
REPLICAS = "/spec/workerGroupSpecs/0/replicas"
HOLD = "example.com/wait-for-me"

_COUNT_HOSTS = """
import ray
ray.init(log_to_driver=False)
alive = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
print(len(alive), "hosts")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """Managed by the name that says nothing new."""
    with local_machine(tmp_path_factory.mktemp("slices") / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        started = RealCluster(machine, build_cluster("slices", [], managedBy="ray.io/kuberay-operator"))
        started.wait_until_ready()
        yield started


def test_no_second_worker_goes_while_the_first_takes_long_to_end(cluster: RealCluster) -> None:
    head = cluster.head()
    cluster.use_groups(build_group(replicas=2, metadata={"finalizers": [HOLD]}))
    cluster.wait_for_workers(2)
    try:
        cluster.replace(REPLICAS, 1)
        cluster.wait(lambda: [len(cluster.list_pods("worker")), len(cluster.pods("worker"))] == [2, 1])
        cluster.hold(lambda: [len(cluster.list_pods("worker")), len(cluster.pods("worker"))] == [2, 1], 10)
        assert cluster.head() == head
    finally:
        cluster.replace(REPLICAS, 0)
        cluster.wait(lambda: cluster.pods("worker") == [])
        let_go(cluster)


def let_go(cluster: RealCluster) -> None:
    for pod in cluster.list_pods("worker"):
        name = pod["metadata"]["name"]
        cluster.machine.kubectl("patch", "pod", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_replicas_of_one_host_keep_their_places(cluster: RealCluster) -> None:
    cluster.use_groups(build_group(replicas=3, numOfHosts=1, maxReplicas=4))
    cluster.wait_for_workers(3)
    assert places(cluster) == ["0", "1", "2"]
    second = next(pod for pod in cluster.pods("worker") if pod["metadata"]["labels"][INDEX] == "1")
    cluster.machine.kubectl("delete", "pod", second["metadata"]["name"], "--wait=false")
    cluster.wait(lambda: second["metadata"]["uid"] not in uids(cluster) and places(cluster) == ["0", "1", "2"])
    cluster.replace(REPLICAS, 4)
    cluster.wait_for_workers(4)
    assert places(cluster) == ["0", "1", "2", "3"]
    assert not [pod for pod in cluster.pods("worker") if {REPLICA, HOST} & pod["metadata"]["labels"].keys()]


def test_replicas_of_several_hosts_come_and_go_as_a_whole(cluster: RealCluster) -> None:
    cluster.use_groups(build_group(replicas=2, numOfHosts=4))
    wait_for_slices(cluster, 2)
    for replicas in (1, 3):
        cluster.replace(REPLICAS, replicas)
        wait_for_slices(cluster, replicas)
    lost = cluster.pods("worker")[0]
    before, name = slices(cluster), lost["metadata"]["labels"][REPLICA]
    cluster.machine.kubectl("delete", "pod", lost["metadata"]["name"], "--wait=false")
    cluster.wait(lambda: name not in slices(cluster))
    wait_for_slices(cluster, 3)
    assert "12 hosts" in cluster.python(_COUNT_HOSTS)
    after = slices(cluster)
    assert {key: after.get(key) for key in before if key != name} == {key: before[key] for key in before if key != name}


def wait_for_slices(cluster: RealCluster, replicas: int) -> None:
    """Each with all its hosts, which have a name and a place in common, and places without gaps."""
    cluster.wait_for_workers(4 * replicas, seconds=300)
    found = slices(cluster)
    assert [sorted(host for _uid, _place, host in hosts) for hosts in found.values()] == [list("0123")] * replicas
    taken = [{place for _uid, place, _host in hosts} for hosts in found.values()]
    assert sorted(map(sorted, taken)) == [[str(place)] for place in range(replicas)]


def slices(cluster: RealCluster) -> dict[str, set[tuple[str, str, str]]]:
    """By the name of the replica: the UID of each of its Pods, the replica's place, and the host's."""
    found: dict[str, set[tuple[str, str, str]]] = {}
    for pod in cluster.pods("worker"):
        labels: dict[str, Any] = pod["metadata"]["labels"]
        found.setdefault(labels[REPLICA], set()).add((pod["metadata"]["uid"], labels[INDEX], labels[HOST]))
    return found


def places(cluster: RealCluster) -> list[str]:
    return sorted(pod["metadata"]["labels"][INDEX] for pod in cluster.pods("worker"))


def uids(cluster: RealCluster) -> set[str]:
    return {pod["metadata"]["uid"] for pod in cluster.pods("worker")}
