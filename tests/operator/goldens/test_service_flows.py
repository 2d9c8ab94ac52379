"""Whole lives of RayServices that were recorded from KubeRay, lived again with a scripted Ray in virtual time."""

import pytest

from conformance.operator.running import Worlds
from conformance.operator.service_flows import judge_service_life, list_service_flows, live_service, load_flow
from golden_cases import SETTINGS_OF_FOLDER, absence

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))

FLOWS = list_service_flows()


def test_every_recorded_life_of_a_rayservice_is_lived() -> None:
    assert len(FLOWS) == 12


@pytest.mark.parametrize("name", FLOWS)
def test_a_life_passes_through_what_kuberays_did(name: str, worlds: Worlds) -> None:
    world = worlds.of("samples", SETTINGS_OF_FOLDER["samples"])
    flow = load_flow(name)
    lived = world.run(live_service(world.operated, flow, name))
    assert judge_service_life(flow, lived) == []
    assert world.operated.world.problems == []
