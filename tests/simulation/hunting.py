"""The hunt for a planted bug: seeds are tried until one breaks what this bug must break, and nothing else counts."""

import re
from collections.abc import Iterable

from msgspec import Struct

from heliostat.testing.simulation.exploration import FAULTY_SECONDS, judge, run_undisturbed
from heliostat.testing.simulation.script import Script
from simulation.cases import CASES
from simulation.mutants import Mutant

OF_THE_PLANT = ("TypeError", "AttributeError", "NameError")  # it no longer fits what it replaces: that is no finding


class Catch(Struct, frozen=True):
    seed: int
    violation: str


def is_told_by(mutant: Mutant, violation: str) -> bool:
    if any(error in violation for error in OF_THE_PLANT):
        return False
    return any(re.search(rf"\b{re.escape(law)}\b", violation) for law in mutant.found_by)


def hunt(mutant: Mutant, seeds: Iterable[int], others: list[Catch] | None = None) -> Catch | None:
    """``others`` are told of what broke otherwise."""
    case = CASES[mutant.case]
    with mutant.plant():
        calm = run_undisturbed(case, mutant.since)
        if calm.violation is not None and is_told_by(mutant, calm.violation):
            return Catch(mutant.since, calm.violation)
        for seed in seeds:
            found = judge(case, seed, Script(seed=seed, until=FAULTY_SECONDS), calm)
            if found is not None and is_told_by(mutant, found.violation):
                return Catch(seed, found.violation)
            if found is not None and others is not None:
                others.append(Catch(seed, found.violation))
    return None
