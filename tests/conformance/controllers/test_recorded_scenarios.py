"""Our controllers and our scheduler do what the real ones did when they were recorded, scenario by scenario."""

from functools import cache

import pytest

from conformance.controllers.catalogue import GROUPS, SCENARIOS
from conformance.controllers.commands import play_ours
from conformance.controllers.comparing import compare
from conformance.controllers.known_differences import KNOWN, unexpected
from conformance.controllers.recording import load_outcomes
from conformance.controllers.runner import Outcome, digest_of

pytestmark = pytest.mark.slow


@cache
def kept() -> dict[str, Outcome]:
    return {name: outcome for group in GROUPS for name, outcome in load_outcomes(group).items()}


@cache
def given(group: str) -> tuple[dict[str, Outcome], list[str]]:
    """A whole group on one control plane, once, however many tests look at it; and the bugs that it met."""
    return play_ours(GROUPS[group])


def test_every_scenario_is_recorded_as_it_is_now() -> None:
    recorded = {name: outcome.digest for name, outcome in kept().items()}
    assert recorded == {name: digest_of(one) for name, one in SCENARIOS.items()}, "record them: make conformance-record"


@pytest.mark.parametrize("group", GROUPS)
def test_the_control_plane_meets_no_bug(group: str) -> None:
    assert not given(group)[1]


@pytest.mark.parametrize(
    ("group", "name"), [(group, one.name) for group, scenarios in GROUPS.items() for one in scenarios]
)
def test_scenario_goes_as_on_the_real_control_plane(group: str, name: str) -> None:
    found = unexpected(compare(name, kept()[name], given(group)[0][name]))
    assert not found, "\n".join(map(str, found))


def test_every_known_difference_is_still_met() -> None:
    """A row that matches nothing any more only hides new differences."""
    found = [
        one
        for group in GROUPS
        for name in given(group)[0]
        for one in compare(name, kept()[name], given(group)[0][name])
    ]
    unmet = [row.id for row in KNOWN if not row.is_chance and not any(row.matches(one) for one in found)]
    assert unmet == []
