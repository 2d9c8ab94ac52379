"""A change of operators goes unnoticed: ours takes over what KubeRay made, and leaves what KubeRay needs to go on."""

import asyncio

import pytest

from conformance.operator.administrator import EVENT
from conformance.operator.own_world import own_world
from conformance.operator.playing import clusters_of, namespace_of
from conformance.operator.recognition import is_kuberays
from conformance.operator.take_over import judge_take_over, leave_objects, leave_traces
from conformance.operator.worlds import Operated
from golden_cases import SETTINGS_OF_FOLDER, GoldenCase, absence, cases_of
from heliostat.api.settings import Settings
from heliostat.operator.kinds import POD
from heliostat.testing import run_virtual

pytestmark = [pytest.mark.skipif(absence() is not None, reason=str(absence())), pytest.mark.slow]

NODES = 32  # for all clusters of a part at once
SETTLING_SECONDS = 60.0
PARTS = {
    "samples": ("samples", ""),
    "gates": ("gates", ""),
    "fuzz, made for validation": ("fuzz", "v"),
    "fuzz, made for Pods": ("fuzz", "w"),
    **{folder: (folder, "") for folder in SETTINGS_OF_FOLDER if folder.startswith("scheduler-")},
}


def cases_of_part(part: str) -> list[GoldenCase]:
    """Those of which KubeRay made something."""
    folder, prefix = PARTS[part]
    named = [case for case in cases_of(folder) if case.name.startswith(prefix)]
    return [case for case in named if clusters_of(case) and case.expected["creates"]]


def test_every_case_with_objects_is_in_a_part() -> None:
    assert sum(len(cases_of_part(part)) for part in PARTS) == 218


@pytest.mark.parametrize("part", PARTS)
def test_what_kuberay_left_is_taken_over_without_a_change(part: str) -> None:
    run_virtual(_take_over(part))


async def _take_over(part: str) -> None:
    cases = cases_of_part(part)
    async with own_world(nodes=NODES) as world:
        for case in cases:
            await leave_objects(world, case, namespace_of(case))
        await asyncio.sleep(SETTLING_SECONDS)
        for case in cases:
            await leave_traces(world, case, namespace_of(case))
        await asyncio.sleep(SETTLING_SECONDS)
        async with world.operated(SETTINGS_OF_FOLDER[PARTS[part][0]]) as operated:
            await operated.rest()
            found = {str(case): judge_take_over(case, operated.log.in_namespace(namespace_of(case))) for case in cases}
            assert {name: lines for name, lines in found.items() if lines} == {}
            for case in cases:
                await _check_that_nothing_was_told(operated, case)
            await _check_that_somebody_is_there(operated, cases)
        assert world.problems == []


async def _check_that_nothing_was_told(operated: Operated, case: GoldenCase) -> None:
    told = {event["reason"] for event in await operated.admin.items(EVENT, namespace_of(case))}
    assert not {reason for reason in told if reason.startswith(("Created", "Deleted"))}, case


async def _check_that_somebody_is_there(operated: Operated, cases: list[GoldenCase]) -> None:
    """A Pod that is lost is replaced: so the silence before was a decision."""
    pods = await operated.admin.items(POD, namespace_of(cases[0]))
    lost = pods[0]["metadata"]
    await operated.admin.delete(POD, lost["namespace"], lost["name"])
    await operated.rest()
    made = [write for write in operated.log.in_namespace(lost["namespace"]) if write.use.verb == "create"]
    assert [write.use.resource for write in made] == [POD.plural]


def test_a_stamp_of_ours_is_never_taken_for_kuberays_own() -> None:
    assert not is_kuberays(Settings().operator_version)
    assert is_kuberays("v1.7.0")
    assert is_kuberays("nightly")
