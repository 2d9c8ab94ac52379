"""Random worlds: faults of every kind at any call for a while, then health; nothing may break on the way."""

import pytest

from heliostat.testing.simulation.exploration import run_seed, run_undisturbed
from simulation.cases import CASES

SEEDS = 100
CHUNK = 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
@pytest.mark.parametrize("name", sorted(CASES))
def test_no_seed_breaks_an_invariant(name: str, first: int) -> None:
    case = CASES[name]
    calm = run_undisturbed(case, first)
    assert calm.violation is None
    seeds = range(first, first + CHUNK)
    findings = [found for seed in seeds if (found := run_seed(case, seed, calm)) is not None]
    assert not findings, "\n\n".join(map(str, findings[:3]))
