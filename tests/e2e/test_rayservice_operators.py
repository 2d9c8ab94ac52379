"""Another version of the operator takes over, at rest and in the middle of an upgrade: nothing rolls because of it, and
no request fails (e2e-scenarios.md §7). The version before is played: its stamp is put onto the clusters, as it would
have left it, and the operator starts anew."""

import json
from pathlib import Path

from e2e.clusters import needs_real_ray
from e2e.local_machine import local_machine
from e2e.services import READY_SECONDS, RealService, build_service
from e2e.steady_requests import asking, describe, list_failures

pytestmark = needs_real_ray

STAMP, BEFORE = "ray.io/kuberay-version", "1.4.2"


def take_over(service: RealService) -> None:
    """Until every cluster has the stamp of the operator that is there now."""
    machine = service.machine
    machine.kubectl("annotate", "rayclusters", "--all", f"{STAMP}={BEFORE}", "--overwrite")
    machine.kill("operator")
    service.wait(lambda: BEFORE not in list_stamps(service), 120)


def list_stamps(service: RealService) -> list[str]:
    trees = json.loads(service.machine.kubectl("get", "rayclusters", "-o", "json"))["items"]
    return [tree["metadata"]["annotations"].get(STAMP, "") for tree in trees]


def test_a_new_version_of_the_operator_starts_no_upgrade_and_finishes_one(tmp_path: Path) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        service = RealService(machine, build_service("1"))
        service.wait_until_ready()
        first, head = service.active(), service.head()["metadata"]["uid"]
        with asking(machine, "http://stand-serve-svc:8000", rate=20) as asker:
            asker.wait_for_answers(50)
            take_over(service)
            service.hold(lambda: service.clusters() == [first] and service.condition("Ready")[0] == "True", 10)
            assert service.head()["metadata"]["uid"] == head

            service.apply(build_service("2"))
            service.wait(lambda: len(service.clusters()) == 2)
            second = service.pending()
            take_over(service)
            service.wait(lambda: service.active() == second, READY_SECONDS)
            service.wait(lambda: service.clusters() == [second], READY_SECONDS)
            answers = asker.finish()
        assert list_failures(answers) == [], describe(answers, [])
        assert answers[-1].told == "2"
        assert service.condition("UpgradeInProgress")[0] == "False"
