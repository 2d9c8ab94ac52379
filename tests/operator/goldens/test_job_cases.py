"""Every recorded RayJob case through the running operator: applied to an API server, with nodes that run Pods.

No Ray answers, as in the recording. What was created is equal by the goldens' own compare.py as far as the recording
went, the same events are told, and the status is the same or further.
"""

import pytest

from conformance.operator.job_cases import is_about_jobs, judge_job_case, play_jobs
from conformance.operator.running import Worlds
from golden_cases import GoldenCase, absence, cases
from heliostat.operator.used_rights import list_ungranted

pytestmark = [pytest.mark.skipif(absence() is not None, reason=str(absence())), pytest.mark.slow]

CASES = [case for case in cases() if is_about_jobs(case)]


def test_every_recorded_rayjob_is_played() -> None:
    assert len(CASES) == 135


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_operator_does_what_kuberay_did(case: GoldenCase, worlds: Worlds) -> None:
    world = worlds.of(case.folder, case.settings, has_ray=False)
    played = world.run(play_jobs(world.operated, case))
    assert judge_job_case(case, played) == []
    assert world.operated.world.problems == []
    assert list_ungranted(world.operated.used) == []
