"""RayServices that KubeRay left at any turn of a recorded life: our operator goes on with what is there."""

import pytest

from conformance.operator.service_flows import list_service_flows
from conformance.operator.service_take_over import Turn, judge_taken_over, leave, list_turns
from conformance.operator.taking_over import take_over
from golden_cases import absence

pytestmark = [pytest.mark.slow, pytest.mark.skipif(absence() is not None, reason=str(absence()))]

TURNS = list_turns(list_service_flows())


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[str]]:
    return take_over(TURNS, leave, judge_taken_over)


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_nothing_rolls_and_the_end_is_the_right_one(turn: Turn, verdicts: dict[str, list[str]]) -> None:
    assert verdicts[str(turn)] == []
