"""What comes in the way of a service, with real Serve: an API server that dies, a head that fails, a suspension."""

from pathlib import Path
from typing import Any

from e2e.clusters import needs_real_ray
from e2e.local_machine import local_machine
from e2e.services import RealService, Tree, build_service
from e2e.steady_requests import asking, list_failures

pytestmark = needs_real_ray

SLOW_START_SECONDS = 30
URL = "http://stand-serve-svc:8000"
ANSWERS = 200  # between two deaths


def build_slow(version: str) -> Tree:
    """Its cluster takes a while until it begins."""
    document = build_service(version)
    pod: dict[str, Any] = document["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]
    image = pod["containers"][0]["image"]
    pod["initContainers"] = [{"name": "wait", "image": image, "command": ["sleep", str(SLOW_START_SECONDS)]}]
    return document


def silence_proxy(service: RealService) -> None:
    """The head's Serve proxy takes connections and answers none, as behind a firewall that drops what is sent."""
    name = service.head()["metadata"]["name"]
    service.machine.kubectl("exec", name, "-c", "ray-head", "--", "pkill", "-STOP", "-f", "ray::.*ProxyActor")


def test_a_head_that_fails_during_an_upgrade_and_a_suspension_in_the_middle_of_the_next(tmp_path: Path) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        service = RealService(machine, build_service("1"))
        service.wait_until_ready()
        assert service.status()["numServeEndpoints"] == 1
        first, old_head = service.active(), service.head()["metadata"]["name"]

        service.apply(build_slow("2"))
        service.wait(lambda: service.condition("UpgradeInProgress")[0] == "True")
        silence_proxy(service)
        service.wait(lambda: service.condition("Ready") == ("False", "ZeroServeEndpoints"))
        label = "jsonpath={.metadata.labels.ray\\.io/serve}"
        assert machine.kubectl("get", "pod", old_head, "-o", label) == "false"
        assert service.condition("UpgradeInProgress")[0] == "True"
        service.wait(lambda: service.active() not in ("", first), 600)
        service.wait_until_ready()
        assert service.status()["numServeEndpoints"] == 1
        assert service.head()["metadata"]["name"] != old_head
        assert service.condition("UpgradeInProgress")[0] == "False"
        assert service.ask("/fruit?amount=2") == {"cost": 6, "version": "2"}

        service.apply(build_slow("3"))
        service.wait(lambda: service.pending() in service.clusters())
        service.patch({"suspend": True})
        service.wait(lambda: service.condition("Suspended")[0] == "True")
        assert service.clusters() == []
        assert service.active() == service.pending() == ""
        assert service.condition("UpgradeInProgress") == ("False", "SuspendComplete")
        service.patch({"suspend": False})
        service.wait_until_ready()
        assert service.ask("/fruit?amount=2") == {"cost": 6, "version": "3"}
        service.delete()


def test_an_api_server_that_dies_takes_no_endpoint_away(tmp_path: Path) -> None:
    """The operator asks the head's Serve proxy through it: that nobody listens there says nothing of the proxy."""
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        service = RealService(machine, build_service())
        service.wait_until_ready()
        with asking(machine, URL) as asker:
            for count in range(1, 5):
                asker.wait_for_answers(count * ANSWERS)
                machine.kill("control-plane")
            asker.wait_for_answers(5 * ANSWERS)  # it is there again, and so are the ways to Pods
            answers = asker.finish()
        assert list_failures(answers) == []
        assert 'serve label to "false"' not in machine.kubectl("get", "events")
        service.delete()
