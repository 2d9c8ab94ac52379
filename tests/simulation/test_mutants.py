"""The simulator is tested too: every planted bug must be found, by the same random search that finds nothing else."""

import pytest

from simulation.hunting import Catch, hunt, is_told_by
from simulation.mutants import MUTANTS, Mutant
from simulation.rayclusters.mutants import RAY_MUTANTS
from simulation.raycronjobs.mutants import RAY_CRON_MUTANTS
from simulation.rayjobs.mutants import RAY_JOB_MUTANTS
from simulation.rayservices.mutants import RAY_SERVICE_MUTANTS

MOST_SEEDS = 100
ALL_MUTANTS = (*MUTANTS, *RAY_MUTANTS, *RAY_JOB_MUTANTS, *RAY_CRON_MUTANTS, *RAY_SERVICE_MUTANTS)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ALL_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    others: list[Catch] = []
    if hunt(mutant, range(mutant.since, mutant.since + MOST_SEEDS), others) is None:
        pytest.fail(f"{mutant.name} lived through {MOST_SEEDS} seeds; what else broke: {others[:3]}")


def test_a_plant_that_does_not_fit_counts_for_nothing() -> None:
    mutant = MUTANTS[0]
    law = mutant.found_by[0]
    assert is_told_by(mutant, f"{law}: 5 live Pods, at most 2 were wanted")
    assert not is_told_by(mutant, f"{law}: a plan broke: TypeError()")
    assert not is_told_by(mutant, "another_law: 5 live Pods")
