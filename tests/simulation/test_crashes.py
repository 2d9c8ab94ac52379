"""Exhaustive: the controllers die at every single call, before it, after it, and with it still on its way."""

import pytest

from heliostat.testing.simulation.exploration import crash_everywhere
from simulation.cases import CASES

PARTS = 4  # so that several workers share one case


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_crash_at_any_call_changes_nothing(name: str, part: int) -> None:
    findings = [finding for _, finding in crash_everywhere(CASES[name], part=part, parts=PARTS) if finding is not None]
    assert not findings, "\n\n".join(map(str, findings[:3]))
