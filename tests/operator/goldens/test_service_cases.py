"""Every recorded RayService case through the running operator: applied to an API server, with nodes that run Pods.

No Ray answers, as in the recording. What was created is equal by the goldens' own compare.py, the same events are told,
and the status is the same.
"""

import pytest

from conformance.operator.running import Worlds
from conformance.operator.service_cases import is_about_services, judge_service_case, play_services
from golden_cases import GoldenCase, absence, cases
from heliostat.operator.used_rights import list_ungranted

pytestmark = [pytest.mark.skipif(absence() is not None, reason=str(absence())), pytest.mark.slow]

CASES = [case for case in cases() if is_about_services(case)]


def test_every_recorded_rayservice_is_played() -> None:
    assert len(CASES) == 69


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_operator_does_what_kuberay_did(case: GoldenCase, worlds: Worlds) -> None:
    world = worlds.of(case.folder, case.settings, has_ray=False)
    played = world.run(play_services(world.operated, case))
    assert judge_service_case(case, played) == []
    assert world.operated.world.problems == []
    assert list_ungranted(world.operated.used) == []
