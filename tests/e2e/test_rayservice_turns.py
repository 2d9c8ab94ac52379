"""Upgrades in steps that are taken back, taken up again, led elsewhere, or suspended (e2e-scenarios.md §6), with real
Serve behind the gateway of the local node."""

from collections.abc import Iterator

import pytest

from e2e.clusters import needs_real_ray
from e2e.local_machine import LocalMachine, local_machine
from e2e.services import RealService
from e2e.steady_requests import asking, list_late, tell_failures
from e2e.stepping import GATEWAY_URL, build_stepping, has_route, is_back, list_backends, read_share

pytestmark = needs_real_ray

MOVE_SECONDS = 600.0
SLOWLY = 15  # seconds between two steps of a move that has to be caught on its way
RATE = 20.0  # requests each second


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealService]:
    with local_machine(tmp_path_factory.mktemp("turns") / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        found = RealService(machine, build_stepping("first"))
        found.wait_until_ready()
        found.wait(lambda: has_route(found))
        yield found


def begin(service: RealService, version: str, share: int) -> str:
    """An upgrade, as far as this share of the requests; the cluster that it leads to."""
    service.apply(build_stepping(version, SLOWLY))
    service.wait(lambda: service.pending() in service.clusters() and read_share(service) >= share, MOVE_SECONDS)
    return service.pending()


def finish(service: RealService, cluster: str) -> None:
    service.wait(lambda: service.active() == cluster and is_back(service, cluster), MOVE_SECONDS)


def list_services(service: RealService) -> list[str]:
    """Its own; that of a Gateway is collected once the Gateway is gone."""
    named = service.machine.kubectl("get", "services", "-o", "name").split()
    return [each for each in named if each.startswith(f"service/{service.name}")]


def test_no_request_fails_wherever_an_upgrade_turns_round(service: RealService) -> None:
    with asking(service.machine, GATEWAY_URL, rate=RATE, is_kept=True) as asker:
        asker.wait_for_answers(20)
        first = service.active()
        for version, share in (("at-once", 0), ("early", 25), ("late", 75)):
            begin(service, version, share)
            service.apply(build_stepping("first", SLOWLY))
            service.wait(lambda: is_back(service, first), MOVE_SECONDS)

        second = begin(service, "second", 50)
        service.apply(build_stepping("first", SLOWLY))
        service.wait(lambda: service.condition("RollbackInProgress")[0] == "True" and read_share(service) < 50)
        service.apply(build_stepping("second"))
        finish(service, second)

        third = begin(service, "third", 50)
        service.apply(build_stepping("second", SLOWLY))
        service.wait(lambda: service.condition("RollbackInProgress")[0] == "True" and read_share(service) < 50)
        service.apply(build_stepping("fourth"))
        service.wait(lambda: service.active() not in (second, third, ""), MOVE_SECONDS)
        finish(service, service.active())
        asker.wait_for_answers(len(asker.read()) + 20)
        answers = asker.finish()
    assert tell_failures(answers) == ""
    for version in ("early", "late", "second", "third", "fourth"):
        assert list_late(answers, version, 0.0), f"some requests went to {version}"
    assert not list_late(answers, "at-once", 0.0)


def test_a_pending_cluster_that_lost_its_head_and_a_suspension_on_the_way(service: RealService) -> None:
    machine: LocalMachine = service.machine
    first = service.active()
    pending = begin(service, "crashed", 75)
    machine.kubectl("delete", "pod", "-l", f"ray.io/cluster={pending},ray.io/node-type=head", "--wait=false")
    service.apply(build_stepping("first", SLOWLY))
    service.wait(lambda: is_back(service, first), MOVE_SECONDS)
    assert service.ask("/fruit?amount=2", first) == {"cost": 6, "version": "first"}

    pending = begin(service, "second", 25)
    assert list_backends(service) == [(f"{first}-serve-svc", 75), (f"{pending}-serve-svc", 25)]
    service.patch({"suspend": True})
    service.wait(lambda: service.condition("Suspended")[0] == "True")
    assert service.clusters() == []
    assert machine.kubectl("get", "gateways,httproutes", "-o", "name").split() == []
    service.wait(lambda: list_services(service) == [])
    service.patch({"suspend": False})
    service.wait_until_ready()
    service.wait(lambda: has_route(service))
    assert service.ask("/fruit?amount=2", service.active()) == {"cost": 6, "version": "second"}
