"""Whole lives of RayCronJobs that were recorded from KubeRay, lived again with a scripted Ray in virtual time."""

import pytest

from conformance.operator.cron_flows import judge_cron_life, list_cron_flows, live_cron, load_flow
from conformance.operator.running import Worlds
from golden_cases import SETTINGS_OF_FOLDER, absence

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))

FLOWS = list_cron_flows()


def test_every_recorded_life_of_a_raycronjob_is_lived() -> None:
    assert len(FLOWS) == 2


@pytest.mark.parametrize("name", FLOWS)
def test_a_life_passes_through_what_kuberays_did(name: str, worlds: Worlds) -> None:
    world = worlds.of("gates", SETTINGS_OF_FOLDER["gates"])
    flow = load_flow(name)
    lived = world.run(live_cron(world.operated, flow, name))
    assert judge_cron_life(name, flow, lived) == []
    assert world.operated.world.problems == []
