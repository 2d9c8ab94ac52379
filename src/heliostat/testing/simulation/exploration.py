"""Looking for trouble: a crash at every call, and seeds; what is found is made small and told.

A case is a scenario with its invariants. A finding carries all that is needed to see it again: the case, the seed, the
faults. Shrinking leaves out faults while the world still breaks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.faults import Crash, Injection, encode_injections
from heliostat.testing.simulation.script import Script
from heliostat.testing.simulation.world import Invariant, Result, Scenario, run_world

FAULTY_SECONDS = 90.0  # of virtual time; a seed's faults end then, and the world must come to rest
LATE_LANDING = 0.7
CRASHES = ("before", "after", "late")
TOLD_LINES = 50

Summary = Callable[[Mapping[str, JsonObject]], object]


class Case(Struct, frozen=True, kw_only=True):
    name: str
    scenario: Scenario
    invariants: tuple[Invariant, ...]
    program: str  # whose every call is crashed at
    summary: Summary | None = None  # of the end state: must equal that of the undisturbed run


class Finding(Struct, frozen=True, kw_only=True):
    case: str
    seed: int
    faults: tuple[Injection, ...]
    violation: str
    trace: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(
            (
                f"{self.case}: {self.violation}",
                f"see it again:  make replay CASE={self.case} SEED={self.seed}",
                f"only with      FAULTS='{encode_injections(self.faults).decode()}'",
                *(f"  {line}" for line in self.trace[-TOLD_LINES:]),
            )
        )


def run_undisturbed(case: Case, seed: int = 0) -> Result:
    return run_world(case.scenario, seed=seed, invariants=case.invariants)


def crash_everywhere(
    case: Case, *, seed: int = 0, part: int = 0, parts: int = 1
) -> Iterator[tuple[Injection, Finding | None]]:
    """Each call of the undisturbed run × the ways to die at it; or one of several parts of them.

    There are three ways to die at a write. Who dies at a read has changed nothing, whenever it dies.
    """
    calm = run_undisturbed(case, seed)
    if calm.violation is not None:
        yield Injection(case.program, 0, Crash("never")), _finding(case, seed, calm)
        return
    writes = calm.writes.get(case.program, frozenset())
    for call in range(part, calm.calls[case.program], parts):
        for when in CRASHES if call in writes else CRASHES[:1]:
            injection = Injection(case.program, call, Crash(when, LATE_LANDING))
            yield injection, judge(case, seed, Script((injection,)), calm)


def run_seed(case: Case, seed: int, calm: Result) -> Finding | None:
    """Faults of all kinds for a while, then health; smaller if something was found.

    ``calm`` is an undisturbed run, of any seed: how a case ends does not depend on it.
    """
    found = judge(case, seed, Script(seed=seed, until=FAULTY_SECONDS), calm)
    return None if found is None else shrink(case, found, calm)


def judge(case: Case, seed: int, script: Script, calm: Result) -> Finding | None:
    """The invariants, and the end state against that of the undisturbed run."""
    result = run_world(case.scenario, seed=seed, script=script, invariants=case.invariants)
    if result.violation is not None:
        return _finding(case, seed, result)
    if case.summary is not None and (ends := case.summary(result.state)) != (calms := case.summary(calm.state)):
        return _finding(case, seed, result, f"it ends as {ends}, undisturbed as {calms}")
    return None


def shrink(case: Case, finding: Finding, calm: Result, *, at_most: int = 200) -> Finding:
    """Fewer faults that still break it: first in halves, then one by one."""
    smallest, tries = finding, 0
    size = max(1, len(smallest.faults) // 2)
    while tries < at_most:
        for candidate in _without(smallest.faults, size):
            tries += 1
            found = judge(case, finding.seed, Script(candidate), calm)
            if found is not None:
                smallest = found
                break
            if tries >= at_most:
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return smallest


def _without(faults: Sequence[Injection], size: int) -> Iterator[tuple[Injection, ...]]:
    for start in range(0, len(faults), size):
        yield (*faults[:start], *faults[start + size :])


def _finding(case: Case, seed: int, result: Result, violation: str = "") -> Finding:
    return Finding(
        case=case.name,
        seed=seed,
        faults=result.met,
        violation=violation or result.violation or "",
        trace=result.trace,
    )
