"""The simulator is tested too: every planted bug must be found, by the same random search that finds nothing else."""

import pytest

from heliostat.testing.simulation.exploration import FAULTY_SECONDS, judge, run_undisturbed
from heliostat.testing.simulation.faults import Script
from simulation.cases import CASES
from simulation.mutants import MUTANTS, Mutant
from simulation.rayclusters.mutants import RAY_MUTANTS

MOST_SEEDS = 100


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [*MUTANTS, *RAY_MUTANTS], ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    case = CASES[mutant.case]
    with mutant.plant():
        calm = run_undisturbed(case, mutant.since)
        for seed in range(mutant.since, mutant.since + MOST_SEEDS):
            script = Script(seed=seed, until=FAULTY_SECONDS)
            if calm.violation is not None or judge(case, seed, script, calm) is not None:
                return
    pytest.fail(f"{mutant.name} lived through {MOST_SEEDS} seeds")
