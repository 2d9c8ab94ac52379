"""RayServices with real Serve on this machine: from YAML to an answer, and through what happens to them
(e2e-scenarios.md §5). Upgrades under many requests are in ``test_rayservice_requests.py``."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.clusters import build_group, is_pod_ready, needs_real_ray
from e2e.local_machine import LocalMachine, local_machine, wait_for
from e2e.redis_pod import GCS_OPTIONS, start_redis
from e2e.services import RealService, build_service, serving
from e2e.steady_requests import asking, tell_failures

pytestmark = needs_real_ray

# Of the only Pod that takes requests: a busy machine is late for the usual one, and then nobody takes them.
PATIENT = {"httpGet": {"path": "/-/healthz", "port": 8000}, "timeoutSeconds": 30, "failureThreshold": 5}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    with local_machine(tmp_path_factory.mktemp("rayservices") / "state") as found:
        assert found.heliostat("up").returncode == 0
        yield found


def test_a_service_changes_in_place_outlives_the_operator_and_its_head(machine: LocalMachine) -> None:
    with serving(machine, build_service("1", 3)) as service:
        service.wait_until_ready()
        assert service.ask("/fruit?amount=2") == {"cost": 6, "version": "1"}
        assert service.ask("/calc?factors=5,3") == {"product": 15, "version": "1"}
        first = service.active()

        service.apply(build_service("1", 4))
        service.wait_for_answer("/fruit?amount=2", {"cost": 8, "version": "1"})
        assert service.active() == first

        configured = list_configured(machine)
        restart_operator(service)
        assert list_configured(machine) == configured, "a restart sends nothing that runs already"

        head = service.head()["metadata"]
        machine.kubectl("delete", "pod", head["name"], "--timeout=120s")
        service.wait(lambda: service.head()["metadata"]["uid"] != head["uid"] and service.is_head_ready(), 240)
        service.wait_for_answer("/fruit?amount=2", {"cost": 8, "version": "1"}, 120)
        assert service.active() == first, "the same cluster, with its applications sent again"


def restart_operator(service: RealService) -> None:
    """It is at work again when it has asked the head's proxy and put back the label that we take away."""
    machine = service.machine
    machine.kill("operator")
    selector = f"ray.io/cluster={service.active()},ray.io/node-type=head"
    machine.kubectl("label", "pod", "-l", selector, "ray.io/serve=false", "--overwrite")

    def is_labelled() -> bool:
        return bool(machine.kubectl("get", "pod", "-l", f"{selector},ray.io/serve=true", "-o", "name").strip())

    wait_for(is_labelled, 60, every=0.5)
    service.wait_for_answer("/fruit?amount=1", {"cost": 4, "version": "1"})


def list_configured(machine: LocalMachine) -> list[str]:
    """The events that tell of a configuration for Serve: each life of the operator begins one of its own."""
    return machine.kubectl("get", "events", "--field-selector", "reason=UpdatedServeApplications", "-o", "name").split()


def test_a_service_that_asks_for_a_token_keeps_its_cluster_without_upgrades_rests_and_comes_back(
    machine: LocalMachine,
) -> None:
    closed: dict[str, Any] = {"cluster": {"authOptions": {"mode": "token"}}, "upgradeStrategy": {"type": "None"}}
    with serving(machine, build_service("1", 3, **closed)) as service:
        service.wait_until_ready()
        variables = {each["name"] for each in service.head()["spec"]["containers"][0]["env"]}
        assert {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN"} <= variables
        assert service.ask("/fruit?amount=2") == {"cost": 6, "version": "1"}

        first = service.active()
        service.apply(build_service("2", 5, **closed))
        service.wait_for_answer("/fruit?amount=2", {"cost": 10, "version": "1"})
        assert service.clusters() == [first], "upgrades are off: the configuration alone has changed"

        service.patch({"suspend": True})
        service.wait(lambda: service.condition("Suspended")[0] == "True")
        status = service.status()
        assert "serviceStatus" not in status
        assert not status.get("numServeEndpoints")
        assert service.active() == service.pending() == ""
        for type_ in ("Suspending", "UpgradeInProgress", "RollbackInProgress"):
            assert service.condition(type_) == ("False", "SuspendComplete")
        assert service.clusters() == []
        assert "stand" not in machine.kubectl("get", "services", "-o", "name")

        service.patch({"suspend": False})
        service.wait_until_ready()
        assert service.condition("Suspended") == ("False", "RayServiceResumed")
        assert service.ask("/fruit?amount=2") == {"cost": 10, "version": "2"}


def test_requests_go_on_at_a_worker_while_the_gcs_and_then_the_head_are_lost(machine: LocalMachine) -> None:
    """The head takes none (excludeHeadPodFromServeSvc), and what Ray knows lies in Redis."""
    start_redis(machine)
    worker = build_group(minReplicas=1, rayStartParams={"num-cpus": "2"})
    worker["template"]["spec"]["containers"][0]["readinessProbe"] = PATIENT
    document = build_service(
        groups=[worker], cluster={"gcsFaultToleranceOptions": GCS_OPTIONS}, excludeHeadPodFromServeSvc=True
    )
    document["spec"]["rayClusterConfig"]["headGroupSpec"]["rayStartParams"] = {"num-cpus": "0"}
    with serving(machine, document) as service:
        service.wait_until_ready()
        head = service.head()["metadata"]
        assert head["labels"]["ray.io/serve"] == "false"
        assert service.status()["numServeEndpoints"] == 1
        with asking(machine, "http://stand-serve-svc:8000", rate=10) as asker:
            asker.wait_for_answers(20)
            killed = time.time()
            machine.kubectl("exec", head["name"], "-c", "ray-head", "--", "pkill", "gcs_server")
            service.wait(lambda: count_restarts(service) >= 1 and service.is_head_ready(), 480)
            assert service.head()["metadata"]["uid"] == head["uid"]
            asker.wait_for_answers(len(asker.read()) + 50)
            deleted = time.time()
            machine.kubectl("delete", "pod", head["name"], "--timeout=120s")
            service.wait(lambda: service.head()["metadata"]["uid"] != head["uid"] and service.is_head_ready(), 240)
            asker.wait_for_answers(len(asker.read()) + 50)
            answers = asker.finish()
        told = tell_failures(answers, killed=killed, deleted=deleted)
        assert not told, f"{told}\n{machine.kubectl('get', 'events', '--sort-by=.lastTimestamp')}"
        service.wait_until_ready()
        assert is_pod_ready(service.head())


def count_restarts(service: RealService) -> int:
    statuses = service.head()["status"].get("containerStatuses") or []
    return int(next((each["restartCount"] for each in statuses if each["name"] == "ray-head"), 0))


def test_a_service_that_does_not_become_ready_in_its_time_is_given_up_for_good(machine: LocalMachine) -> None:
    document = build_service(annotations={"ray.io/initializing-timeout": "10s"})
    document["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"] = "nobody/has:1"
    with serving(machine, document) as service:
        service.wait(lambda: service.condition("Ready") == ("False", "InitializingTimeout"), 60)
        assert service.active() == service.pending() == ""
        service.apply(build_service(annotations={"ray.io/initializing-timeout": "10m"}))
        service.hold(lambda: service.condition("Ready")[1] == "InitializingTimeout" and service.pending() == "", 15)


def test_a_name_that_is_too_long_and_another_manager(machine: LocalMachine) -> None:
    long = RealService(machine, build_service(name="s" * 48))
    long.wait(lambda: long.condition("Ready") == ("False", "ValidationFailed"), 60)
    assert long.clusters() == []
    long.delete()

    theirs = RealService(machine, build_service(managedBy="kueue.x-k8s.io/multikueue"))
    with pytest.raises(AssertionError, match="immutable"):
        theirs.patch({"managedBy": "ray.io/kuberay-operator"})
    assert theirs.status() == {}
    assert theirs.clusters() == []
    theirs.delete()
    with pytest.raises(AssertionError, match="managedBy"):
        RealService(machine, build_service(managedBy="somebody.else/controller"))
