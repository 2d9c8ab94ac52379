"""Random worlds: faults of every kind at any call for a while, then health; nothing may break on the way."""

import pytest

from heliostat.testing.simulation.exploration import run_seed, run_undisturbed
from simulation.cases import CASES

SEEDS = 100
CHUNK = 10
# A server that lags for seconds was taken for one that went back; a namespace ended before all resources were known; a
# RayCluster was replaced by another one of its name while a write for it was being settled.
KEPT = (("leaders", 192), ("garbage", 1983), ("garbage", 4), ("garbage", 33), ("rayclusters", 410))


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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), KEPT)
def test_what_was_found_once_stays_mended(name: str, seed: int) -> None:
    case = CASES[name]
    assert run_seed(case, seed, run_undisturbed(case, seed)) is None
