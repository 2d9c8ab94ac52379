"""Real Serve under requests that never stop: a service of a fixed size, and one that grows with its requests."""

import json
from collections.abc import Iterator

import pytest

from e2e.clusters import build_group, needs_real_ray
from e2e.fruit_stand import serve_config
from e2e.local_machine import LocalMachine, local_machine
from e2e.services import RealService, Tree, build_service, serving
from e2e.steady_requests import asking, tell_failures

pytestmark = needs_real_ray

URL = "http://stand-serve-svc:8000"
STEADY = 1500  # answers, half a minute of them
FEW, MANY = 5.0, 50.0  # requests each second: of these a fifth are streams, half a second each
IDLE_SECONDS = 10


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    with local_machine(tmp_path_factory.mktemp("rayservice-load") / "state") as found:
        assert found.heliostat("up").returncode == 0
        yield found


def build_growing() -> Tree:
    """One replica of the fruit application fits into a worker, and one of the other beside it."""
    scaling = "{min_replicas: 1, max_replicas: 3, target_ongoing_requests: 1.5, upscale_delay_s: 2,"
    scaling += " downscale_delay_s: 10, metrics_interval_s: 1, look_back_period_s: 3}"
    extra = f"        ray_actor_options: {{num_cpus: 0.6}}\n        autoscaling_config: {scaling}\n"
    config = serve_config(3).replace("      - name: Fruit\n", f"      - name: Fruit\n{extra}")
    document = build_service(
        groups=[build_group(minReplicas=1)],
        cluster={
            "enableInTreeAutoscaling": True,
            "autoscalerOptions": {"version": "v2", "idleTimeoutSeconds": IDLE_SECONDS},
        },
        serveConfigV2=config,
    )
    return leave_work_to_workers(document)


def build_static() -> Tree:
    """Two replicas on the worker; the head's proxy and the worker's take requests for them."""
    config = serve_config(3).replace("      - name: Fruit\n", "      - name: Fruit\n        num_replicas: 2\n")
    return leave_work_to_workers(build_service(groups=[build_group(minReplicas=1)], serveConfigV2=config))


def leave_work_to_workers(document: Tree) -> Tree:
    document["spec"]["rayClusterConfig"]["headGroupSpec"]["rayStartParams"] = {"num-cpus": "0"}
    return document


def count_workers(service: RealService) -> int:
    """Those that stay."""
    selector = f"ray.io/cluster={service.active()},ray.io/node-type=worker"
    pods = json.loads(service.machine.kubectl("get", "pods", "-l", selector, "-o", "json"))["items"]
    return sum("deletionTimestamp" not in pod["metadata"] for pod in pods)


def test_a_service_of_a_fixed_size_answers_every_request(machine: LocalMachine) -> None:
    with serving(machine, build_static()) as service:
        service.wait_until_ready()
        service.wait(lambda: service.status().get("numServeEndpoints") == 2)
        cluster = service.active()
        with asking(machine, URL, rate=MANY) as asker:
            asker.wait_for_answers(STEADY)
            answers = asker.finish()
        assert not tell_failures(answers)
        assert (service.active(), service.clusters()) == (cluster, [cluster])


def test_a_service_grows_with_its_requests_and_shrinks_again(machine: LocalMachine) -> None:
    with serving(machine, build_growing()) as service:
        service.wait_until_ready()
        service.wait(lambda: count_workers(service) == 1)
        with asking(machine, URL, "steady", rate=FEW) as steady:
            steady.wait_for_answers(20)
            assert count_workers(service) == 1
            with asking(machine, URL, "burst", rate=MANY) as burst:
                service.wait(lambda: count_workers(service) > 1, 600)
                service.wait(lambda: service.status().get("numServeEndpoints", 0) > 2, 600)
                answers = burst.finish()
            service.wait(lambda: count_workers(service) == 1, 600)
            steady.wait_for_answers(len(steady.read()) + 20)
            answers += steady.finish()
        assert not tell_failures(answers)
