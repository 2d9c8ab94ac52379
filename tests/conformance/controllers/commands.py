# ruff: noqa: T201 - these are commands
"""``python -m conformance controllers …``: scenarios on the real control plane and on ours, and what differs."""

import asyncio
from collections.abc import Sequence

from conformance.controllers.catalogue import GROUPS
from conformance.controllers.comparing import Difference, compare, group_by_cause
from conformance.controllers.known_differences import unexpected
from conformance.controllers.model import Scenario
from conformance.controllers.planes import own_plane, real_plane
from conformance.controllers.recording import load_outcomes, save_outcomes
from conformance.controllers.runner import Outcome, play_all
from heliostat.testing import run_virtual

ABREAST = 12  # on the real control plane: its clock is the machine's
EXAMPLES = 3


def run_controllers(what: str, names: Sequence[str]) -> int:
    chosen = {group: _chosen(group, names) for group in GROUPS}
    scenarios = [scenario for group in chosen.values() for scenario in group]
    if what == "record":
        return _record(chosen, asyncio.run(_play_real(scenarios)))
    if what == "real":
        wanted = asyncio.run(_play_real(scenarios))
    else:
        wanted = {name: outcome for group in GROUPS for name, outcome in load_outcomes(group).items()}
    given, problems = play_ours(scenarios)
    return _tell(scenarios, wanted, given, problems)


def _chosen(group: str, names: Sequence[str]) -> list[Scenario]:
    return [one for one in GROUPS[group] if not names or group in names or one.name in names]


async def _play_real(scenarios: Sequence[Scenario]) -> dict[str, Outcome]:
    async with real_plane() as target:
        return await play_all(scenarios, target, ABREAST)


def play_ours(scenarios: Sequence[Scenario]) -> tuple[dict[str, Outcome], list[str]]:
    """In virtual time; with the bugs that the server and the controllers met."""
    problems: list[str] = []

    async def run() -> dict[str, Outcome]:
        async with own_plane(problems) as target:
            return await play_all(scenarios, target, ABREAST)

    return run_virtual(run()), problems


def _record(chosen: dict[str, list[Scenario]], outcomes: dict[str, Outcome]) -> int:
    """Recordings of scenarios that were not chosen stay; those of scenarios that are no more go."""
    for group, scenarios in chosen.items():
        if not scenarios:
            continue
        kept = {one.name: load_outcomes(group)[one.name] for one in GROUPS[group] if one.name in load_outcomes(group)}
        path = save_outcomes(group, {**kept, **{one.name: outcomes[one.name] for one in scenarios}})
        print(f"{len(scenarios)} scenarios in {path.name}, {path.stat().st_size:,} bytes")
    return 0


def _tell(
    scenarios: Sequence[Scenario], wanted: dict[str, Outcome], given: dict[str, Outcome], problems: Sequence[str]
) -> int:
    found: list[Difference] = []
    for scenario in scenarios:
        if scenario.name in wanted:
            found += compare(scenario.name, wanted[scenario.name], given[scenario.name])
    left = unexpected(found)
    for cause, examples in group_by_cause(left).items():
        names = ", ".join(sorted({one.scenario for one in examples})[:EXAMPLES])
        print(f"{len(examples)} x {cause}\n    in {names}")
    for problem in problems:
        print(problem)
    differing = {one.scenario for one in left}
    print(
        f"{len(left)} differences in {len(differing)} of {len(scenarios)} scenarios;"
        f" {len(found) - len(left)} known ones; {len(problems)} bugs met"
    )
    return 1 if left or problems else 0
