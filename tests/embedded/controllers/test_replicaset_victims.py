"""Which of two Pods goes first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from heliostat.embedded.controllers.replicasets.victims import choose_victims
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.timestamps import format_timestamp

NOW = 1_700_000_000.0
COST = "controller.kubernetes.io/pod-deletion-cost"


def build_pod(
    name: str,
    *,
    node: str = "n",
    phase: str = "Running",
    ready: float | None = 100,
    age: float = 100,
    restarts: int = 0,
    sidecar_restarts: int = 0,
    cost: str = "",
) -> Pod:
    """Ready for so many seconds, created so many seconds ago."""
    status: dict[str, Any] = {"phase": phase, "containerStatuses": [{"name": "c", "restartCount": restarts}]}
    status["initContainerStatuses"] = [
        {"name": "sidecar", "restartCount": sidecar_restarts},
        {"name": "init", "restartCount": 99},
    ]
    if ready is not None:
        since = format_timestamp(NOW - ready)
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    containers = [{"name": "sidecar", "restartPolicy": "Always"}, {"name": "init"}]
    return convert(
        {
            "metadata": {
                "name": name,
                "uid": name,
                "creationTimestamp": format_timestamp(NOW - age),
                "annotations": {COST: cost} if cost else {},
            },
            "spec": {"nodeName": node, "initContainers": containers},
            "status": status,
        },
        Pod,
    )


DEFAULT: dict[str, Any] = {}

# The first one goes, although its UID is the later one.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "unassigned before assigned": ({"node": "", "cost": "9"}, DEFAULT),
    "Pending before Unknown": ({"phase": "Pending"}, {"phase": "Unknown"}),
    "Unknown before Running": ({"phase": "Unknown"}, DEFAULT),
    "not ready before ready": ({"ready": None, "cost": "9"}, DEFAULT),
    "cheap before dear": ({"cost": "-1", "age": 10_000}, {"cost": "1"}),
    "no cost is zero": (DEFAULT, {"cost": "1"}),
    "a negative cost is below zero": ({"cost": "-5"}, DEFAULT),
    "a cost with a plus sign is zero": ({"cost": "+5"}, {"cost": "1"}),
    "a cost with leading zeros is zero": ({"cost": "05"}, {"cost": "1"}),
    "a cost beyond 32 bits is zero": ({"cost": "3000000000"}, {"cost": "1"}),
    "ready for a short time before a long one": ({"ready": 10, "age": 5000}, {"ready": 1000}),
    "many restarts before few": ({"restarts": 3}, {"restarts": 1}),
    "many sidecar restarts before few": ({"sidecar_restarts": 3}, {"sidecar_restarts": 1}),
    "restarts count before age": ({"restarts": 1, "age": 5000}, DEFAULT),
    "young before old": ({"age": 10}, {"age": 1000}),
}


@pytest.mark.parametrize(("first", "second"), CASES.values(), ids=CASES.keys())
def test_the_first_difference_decides(first: dict[str, Any], second: dict[str, Any]) -> None:
    goes, stays = build_pod("z", **first), build_pod("a", **second)
    related = [goes, stays]
    assert choose_victims([goes, stays], lambda: related, 1, NOW) == [goes]
    assert choose_victims([stays, goes], lambda: related, 1, NOW) == [goes]


@pytest.mark.parametrize("field", ["ready", "age"])
def test_about_the_same_age_is_decided_by_uid(field: str) -> None:
    """Between a power of two and the next one, the youngest is not always the one to go."""
    young: dict[str, Any] = {field: 1000.0}
    old: dict[str, Any] = {field: 1050.0}
    younger, older = build_pod("z", **young), build_pod("a", **old)
    assert choose_victims([younger, older], lambda: (), 1, NOW) == [older]


def test_the_pod_with_more_neighbours_goes() -> None:
    crowded, lonely = build_pod("z", node="n1"), build_pod("a", node="n2")
    beside = build_pod("other", node="n1")
    assert choose_victims([crowded, lonely], lambda: [crowded, lonely, beside], 1, NOW) == [crowded]


def test_neighbours_that_are_over_do_not_count() -> None:
    pods = [build_pod("z", node="n1"), build_pod("a", node="n2")]
    beside = [build_pod(f"over-{number}", node="n1", phase="Succeeded") for number in range(2)]
    alive = build_pod("alive", node="n2")
    assert choose_victims(pods, lambda: [*pods, *beside, alive], 1, NOW) == [pods[1]]


def test_nobody_asks_for_neighbours_when_all_go() -> None:
    pods = [build_pod("a"), build_pod("b")]

    def refuse() -> list[Pod]:
        raise AssertionError("not needed")

    assert choose_victims(pods, refuse, 2, NOW) == pods


@given(
    ready=st.lists(st.booleans(), min_size=1, max_size=8),
    share=st.floats(0, 1),
)
def test_a_ready_pod_never_goes_while_one_is_not_ready(ready: list[bool], share: float) -> None:
    pods = [build_pod(f"p{number}", ready=50 if is_ready else None) for number, is_ready in enumerate(ready)]
    victims = choose_victims(pods, lambda: pods, int(share * len(pods)), NOW)
    kept = [pod for pod in pods if pod not in victims]
    if any(pod.is_ready for pod in victims):
        assert all(pod.is_ready for pod in kept)
