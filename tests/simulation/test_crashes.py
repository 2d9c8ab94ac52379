"""Exhaustive: the controllers die at every single call, before it, after it, and with it still on its way."""

import pytest

from heliostat.testing.simulation.exploration import crash_everywhere
from simulation.cases import ALL_CASES

PARTS = 4  # so that several workers share one case
# The autoscaler never rests, so its workload has the most calls by far: it dies at every one of them in ``make sim``.
CRASHED = tuple(name for name in ALL_CASES if name not in ("rayclusters", "raycluster-autoscale"))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", sorted(CRASHED))
def test_a_crash_at_any_call_changes_nothing(name: str, part: int) -> None:
    found = crash_everywhere(ALL_CASES[name], part=part, parts=PARTS)
    findings = [finding for _, finding in found if finding is not None]
    assert not findings, "\n\n".join(map(str, findings[:3]))
