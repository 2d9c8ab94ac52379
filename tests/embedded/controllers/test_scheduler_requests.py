from typing import Any

import msgspec
import pytest

from heliostat.embedded.controllers.scheduler.requests import ASSUMED, total_requests
from heliostat.embedded.controllers.views.pods import PodSpec


def spec(**tree: Any) -> PodSpec:
    return msgspec.convert(tree, PodSpec)


def asks(name: str, restart_policy: str = "", **requests: str) -> dict[str, Any]:
    container: dict[str, Any] = {"name": name, "resources": {"requests": requests}}
    return container | ({"restartPolicy": restart_policy} if restart_policy else {})


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"containers": [asks("a", cpu="500m"), asks("b", cpu="1.5")]}, {"cpu": 2000}),
        ({"containers": [asks("a", memory="1Gi")]}, {"memory": 2**30}),
        ({"containers": [asks("a", cpu="0.0001"), asks("b", cpu="0.0001")]}, {"cpu": 1}),
        (
            {"containers": [asks("a", cpu="1")], "initContainers": [asks("i", cpu="3"), asks("j", cpu="2")]},
            {"cpu": 3000},
        ),
        (
            {"containers": [asks("a", cpu="4")], "initContainers": [asks("i", cpu="3", memory="5")]},
            {"cpu": 4000, "memory": 5},
        ),
        (
            {"containers": [asks("a", cpu="1")], "initContainers": [asks("s", "Always", cpu="2"), asks("i", cpu="3")]},
            {"cpu": 5000},
        ),
        (
            {"containers": [asks("a", cpu="4")], "initContainers": [asks("i", cpu="3"), asks("s", "Always", cpu="2")]},
            {"cpu": 6000},
        ),
        ({"containers": [asks("a", cpu="1")], "overhead": {"cpu": "250m", "memory": "7"}}, {"cpu": 1250, "memory": 7}),
        (
            {
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "2"}}}],
                "resources": {"requests": {"cpu": "3", "nvidia.com/gpu": "9"}},
            },
            {"cpu": 3000, "nvidia.com/gpu": 2},
        ),
    ],
    ids=[
        "containers-add-up",
        "binary-suffix",
        "rounds-up-once",
        "highest-init-container",
        "each-resource-by-itself",
        "sidecar-beside-later-init-containers",
        "sidecar-beside-containers",
        "overhead-on-top",
        "whole-pod-takes-the-place-of-cpu-and-memory",
    ],
)
def test_the_formula_of_pod_requests(tree: dict[str, Any], expected: dict[str, int]) -> None:
    assert total_requests(spec(**tree)) == expected


def test_scoring_assumes_something_of_containers_that_do_not_say() -> None:
    silent = spec(containers=[asks("a"), asks("b", cpu="1")])
    assert total_requests(silent, ASSUMED) == {"cpu": 1100, "memory": 2 * 200 * 2**20}
    assert total_requests(silent) == {"cpu": 1000}
