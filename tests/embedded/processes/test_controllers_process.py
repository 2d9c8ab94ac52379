"""``heliostat controllers`` as a process: leadership, health, signals, and what it says when it cannot work."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded.processes.http_api import HttpApi
from embedded.processes.proxies import silent_proxy
from embedded.processes.running import (
    SHORT_LEASE,
    ControllersProcess,
    Running,
    ServerProcess,
    wait_until,
)
from heliostat.testing import ApiServer, api_server_in_thread

pytestmark = pytest.mark.slow

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/heliostat-controllers"
ALONE = ("--no-leader-elect", "--request-seconds=0.5")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path, "--memory") as running:
        yield running


@pytest.fixture
def other() -> Iterator[ApiServer]:
    """In this process, where other users than the administrator can be made up."""
    with api_server_in_thread() as running:
        yield running


def deployment(name: str) -> dict[str, Any]:
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def seconds_to_a_replica_set(api: HttpApi, name: str, worker: ControllersProcess) -> float:
    """How long it takes until somebody works on a new Deployment; ``worker`` should, and is asked if nobody does."""
    begun = time.monotonic()
    api.post(DEPLOYMENTS, deployment(name))
    wait_until(lambda: any(found["metadata"]["labels"]["app"] == name for found in api.list(REPLICA_SETS)), worker.told)
    return time.monotonic() - begun


@pytest.mark.parametrize(
    "flags",
    [SHORT_LEASE, pytest.param((), marks=pytest.mark.soak)],
    ids=["short", "default"],
)
def test_another_leads_when_the_leader_is_killed(server: ServerProcess, tmp_path: Path, flags: tuple[str, ...]) -> None:
    with HttpApi(server.kubeconfig) as api, ControllersProcess(tmp_path, server.kubeconfig, *flags, name="a") as first:
        wait_until(first.leads, first.told)
        with ControllersProcess(tmp_path, server.kubeconfig, *flags, name="b") as second:
            second.wait_answer("/readyz", 200)
            assert not second.leads()
            seconds_to_a_replica_set(api, "before", first)
            first.kill()
            seconds_to_a_replica_set(api, "after", second)
            assert second.leads()
            assert second.stop() == 0


def test_a_leader_that_is_told_to_stop_hands_over_before_its_lease_ends(server: ServerProcess, tmp_path: Path) -> None:
    flags = ("--lease-seconds=60", "--renew-seconds=40", "--retry-seconds=0.2", "--request-seconds=0.5")
    with HttpApi(server.kubeconfig) as api, ControllersProcess(tmp_path, server.kubeconfig, *flags, name="a") as first:
        wait_until(first.leads, first.told)
        with ControllersProcess(tmp_path, server.kubeconfig, *flags, name="b") as second:
            second.wait_answer("/readyz", 200)
            assert first.stop() == 0
            assert seconds_to_a_replica_set(api, "after", second) < 30.0
            assert second.stop() == 0
        assert api.get(LEASE)["spec"]["holderIdentity"] == ""


def test_a_stand_by_stops_when_it_is_told_to(server: ServerProcess, tmp_path: Path) -> None:
    with ControllersProcess(tmp_path, server.kubeconfig, *SHORT_LEASE, name="a") as first:
        wait_until(first.leads, first.told)
        with ControllersProcess(tmp_path, server.kubeconfig, *SHORT_LEASE, name="b") as second:
            second.wait_answer("/readyz", 200)
            assert second.stop() == 0
        assert first.exit_code is None


def test_of_those_that_take_turns_one_works_and_another_goes_on_when_it_is_killed(
    server: ServerProcess, tmp_path: Path
) -> None:
    flags = (*ALONE, f"--turn-file={tmp_path / 'turn'}")
    with HttpApi(server.kubeconfig) as api, ControllersProcess(tmp_path, server.kubeconfig, *flags, name="a") as first:
        first.wait_answer("/readyz", 200)
        with ControllersProcess(tmp_path, server.kubeconfig, *flags, name="b") as second:
            second.wait_answer("/readyz", 500, "not synced yet")
            first.kill()
            second.wait_answer("/readyz", 200)
            seconds_to_a_replica_set(api, "after", second)
            assert (tmp_path / "turn").read_text() == f"{second.pid}\n"
            with ControllersProcess(tmp_path, server.kubeconfig, *flags, name="c") as third:
                third.wait_answer("/readyz", 500, "not synced yet")
                assert third.stop() == 0
            assert second.stop() == 0


def test_a_leader_whose_lease_is_taken_ends_with_an_error(server: ServerProcess, tmp_path: Path) -> None:
    with (
        HttpApi(server.kubeconfig) as api,
        ControllersProcess(tmp_path, server.kubeconfig, *SHORT_LEASE) as controllers,
    ):
        wait_until(controllers.leads, controllers.told)
        api.patch(LEASE, {"spec": {"holderIdentity": "a thief"}})
        assert controllers.wait_ended() == 1
        assert 'leadership lost  because="the lease is held by a thief"' in controllers.told()


@pytest.mark.parametrize(
    ("watch_seconds", "seconds"),
    [
        (4.0, 60.0),
        pytest.param(45.0, 60.0, marks=pytest.mark.soak),
    ],
    ids=["short", "default"],
)
def test_a_silent_watch_turns_the_health_check_red_until_bytes_flow_again(
    server: ServerProcess, tmp_path: Path, watch_seconds: float, seconds: float
) -> None:
    with silent_proxy(server.address) as proxy:
        through = tmp_path / "through-proxy"
        through.write_text(server.kubeconfig.read_text().replace(server.address, f"https://127.0.0.1:{proxy.port}"))
        flags = (*ALONE, f"--watch-seconds={watch_seconds}")
        with HttpApi(server.kubeconfig) as api, ControllersProcess(tmp_path, through, *flags) as controllers:
            controllers.wait_answer("/readyz", 200)
            proxy.withhold()
            withheld = time.monotonic()
            controllers.wait_answer("/livez", 500, "has made no progress for")
            assert time.monotonic() - withheld < seconds
            api.post(DEPLOYMENTS, deployment("unseen"))
            proxy.forward()
            controllers.wait_answer("/livez", 200)
            wait_until(lambda: len(api.list(REPLICA_SETS)) == 1, controllers.told)
            assert "heliostat_watch_silences_total" in controllers.ask("/metrics")[1]
            assert controllers.stop() == 0


@pytest.mark.parametrize("flags", [SHORT_LEASE, ALONE], ids=["elected", "alone"])
def test_a_server_that_is_not_there_yet_is_waited_for(tmp_path: Path, flags: tuple[str, ...]) -> None:
    data = ("--data", str(tmp_path / "data"))
    with ServerProcess(tmp_path, *data) as server:
        port = int(server.address.rpartition(":")[2])
        assert server.stop() == 0
    with ControllersProcess(tmp_path, server.kubeconfig, *flags) as controllers:
        controllers.wait_answer("/readyz", 500, "cannot connect to 127.0.0.1")
        assert controllers.ask("/livez") == (200, "ok")
        with ServerProcess(tmp_path, *data, port=port) as server, HttpApi(server.kubeconfig) as api:
            controllers.wait_answer("/readyz", 200)
            seconds_to_a_replica_set(api, "now", controllers)
            assert controllers.stop() == 0


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        (SHORT_LEASE, 'User "nobody" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace'),
        (ALONE, 'User "nobody" cannot watch resource "'),
    ],
    ids=["elected", "alone"],
)
def test_missing_rights_are_named(other: ApiServer, tmp_path: Path, flags: tuple[str, ...], rule: str) -> None:
    kubeconfig = tmp_path / "nobody"
    kubeconfig.write_text(other.build_kubeconfig("nobody"))
    with ControllersProcess(tmp_path, kubeconfig, *flags) as controllers:
        controllers.wait_answer("/readyz", 500, rule)
        assert rule in controllers.told().replace('\\"', '"')
        assert controllers.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--kubeconfig", "{folder}/none"), 1, "there is no such kubeconfig"),
        (("--kubeconfig", "{folder}/broken"), 1, "broken"),
        (("--kubeconfig", "{kubeconfig}", "--context", "heliostt"), 1, "there is no context named 'heliostt'"),
        (("--kubeconfig", "{kubeconfig}", "--lease-seconds=5"), 2, "must be longer than the renew deadline (10 s)"),
        (("--kubeconfig", "{kubeconfig}", "--request-seconds=6"), 2, "shorten requests or lengthen the lease"),
        (("--kubeconfig", "{kubeconfig}", "--no-leader-elect", "--request-seconds=0"), 2, "give more than 0"),
        (("--kubeconfig", "{kubeconfig}", "--turn-file={folder}"), 2, "as a lock: Is a directory; name a file"),
        (("--kubeconfig", "{kubeconfig}", "--health-port=70000"), 2, "is not a port"),
        (("--kubeconfig", "{kubeconfig}", "--health-port={taken}"), 1, "choose another address"),
        (("--kubeconfig", "{kubeconfig}", "--log-level=loud"), 2, "is not a log level"),
        (("--kubeconfig", "{kubeconfig}", "--simulated-nodes=many"), 2, "not a number of nodes"),
    ],
)
def test_what_cannot_work_is_told_at_once(
    other: ApiServer, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (tmp_path / "broken").write_text("clusters: 3\n")
    known = {"folder": tmp_path, "kubeconfig": other.kubeconfig, "taken": other.address.rpartition(":")[2]}
    filled = [argument.format_map(known) for argument in arguments]
    with Running(tmp_path, "controllers", "controllers", *filled) as process:
        assert process.wait_ended() == code
        assert words in process.told()
        assert "Traceback" not in process.told()
