"""Every recorded RayCluster case through the running operator: applied to an API server, with nodes that run Pods.

What was created is equal by the goldens' own compare.py, the same events are told in the same words, and the status
is the same where the recording had come to its end.
"""

import pytest

from conformance.operator.judging import judge
from conformance.operator.playing import clusters_of, play
from conformance.operator.recognition import list_unrecognisable
from conformance.operator.running import Worlds
from golden_cases import GoldenCase, absence, cases
from heliostat.operator.used_rights import list_ungranted

pytestmark = [pytest.mark.skipif(absence() is not None, reason=str(absence())), pytest.mark.slow]

CASES = [case for case in cases() if clusters_of(case)]


def test_every_recorded_raycluster_is_played() -> None:
    assert len(CASES) == 285


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_operator_does_what_kuberay_did(case: GoldenCase, worlds: Worlds) -> None:
    world = worlds.of(case.folder, case.settings)
    played = world.run(play(world.operated, case))
    assert judge(case, played) == []
    assert list_unrecognisable(played.clusters, played.kept) == []
    assert world.operated.world.problems == []
    assert list_ungranted(world.operated.used) == []
