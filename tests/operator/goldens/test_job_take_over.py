"""RayJobs that KubeRay left at any turn of a recorded life: our operator goes on with what is there."""

import pytest

from conformance.operator.job_flows import list_job_flows
from conformance.operator.job_take_over import Turn, judge_taken_over, leave, list_turns
from conformance.operator.taking_over import take_over
from golden_cases import absence

pytestmark = [pytest.mark.slow, pytest.mark.skipif(absence() is not None, reason=str(absence()))]

TURNS = list_turns(list_job_flows())


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[str]]:
    return take_over(TURNS, leave, judge_taken_over)


def test_every_phase_that_kuberay_passes_through_is_among_them() -> None:
    phases = {turn.status.get("jobDeploymentStatus") for turn in TURNS}
    assert phases >= {None, "Initializing", "Running", "Retrying", "Suspending", "Suspended", "Complete", "Failed"}
    assert "ValidationFailed" in phases


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_nothing_is_done_twice_and_the_end_is_the_right_one(turn: Turn, verdicts: dict[str, list[str]]) -> None:
    assert verdicts[str(turn)] == []
