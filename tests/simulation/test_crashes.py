"""Exhaustive: the controllers die at every single call, before it, after it, and with it still on its way."""

import pytest

from heliostat.testing.simulation.exploration import crash_everywhere
from simulation.cases import ALL_CASES, CASES

PARTS = 4  # so that several workers share one case
# What tells the most for its time. All other workloads of ray.io's kinds die at every call in ``make sim``.
CRASHED = (
    *(name for name in CASES if name not in ("rayclusters", "rayjobs", "raycronjobs", "rayservices")),
    "rayjob-http", "rayjob-k8s-job", "raycronjob-one-at-a-time-replace", "rayservice-in-place", "rayservice-upgrade",
    "raycluster-create", "raycluster-scale", "raycluster-suspend",
    "raycluster-recreate", "raycluster-redis-succeeds", "raycluster-create-again", "raycluster-lose-a-node-worker",
    "raycluster-two-operators",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", sorted(CRASHED))
def test_a_crash_at_any_call_changes_nothing(name: str, part: int) -> None:
    found = crash_everywhere(ALL_CASES[name], part=part, parts=PARTS)
    findings = [finding for _, finding in found if finding is not None]
    assert not findings, "\n\n".join(map(str, findings[:3]))
