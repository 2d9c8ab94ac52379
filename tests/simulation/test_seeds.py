"""Random worlds: faults of every kind at any call for a while, then health; nothing may break on the way."""

from pathlib import Path

import pytest

from heliostat.testing.simulation.exploration import judge, run_seed, run_undisturbed
from heliostat.testing.simulation.faults import decode_injections
from heliostat.testing.simulation.script import Script
from simulation.cases import CASES

SEEDS = 100
CHUNK = 10
# What seeds have found, with the faults that they drew then. A server that lags for seconds was taken for one that went
# back; a namespace ended before all resources were known; a Pod that went with its last finalizer was still counted on,
# and no bookmark ever told a quiet watch how far it is. A RayJob was Suspended while a view that lagged showed no Pods.
# Ray was started again in its Pod, and a submitter gave it the job once more (no fault of Kubernetes is needed). The
# garbage collector let a submitter Job go before a Pod of it, which then submitted for a RayJob that was gone.
KEPT = sorted(path.stem for path in (Path(__file__).parent / "kept").glob("*.json"))


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
@pytest.mark.parametrize("finding", KEPT)
def test_what_was_found_once_stays_mended(finding: str) -> None:
    name, _, seed = finding.partition("-")
    case = CASES[name]
    faults = decode_injections((Path(__file__).parent / "kept" / f"{finding}.json").read_bytes())
    found = judge(case, int(seed), Script(faults), run_undisturbed(case, int(seed)))
    assert found is None, str(found)
