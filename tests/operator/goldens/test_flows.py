"""Whole lives that were recorded from KubeRay, lived again through the running operator in virtual time."""

import pytest

from conformance.operator.flows import judge_life, list_flows, live, load_flow
from conformance.operator.running import Worlds
from golden_cases import SETTINGS_OF_FOLDER, absence

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))

FLOWS = list_flows()


def test_every_recorded_life_of_a_raycluster_is_lived() -> None:
    assert len(FLOWS) == 4


@pytest.mark.parametrize("name", FLOWS)
def test_a_life_passes_through_what_kuberays_did(name: str, worlds: Worlds) -> None:
    world = worlds.of("samples", SETTINGS_OF_FOLDER["samples"])
    flow = load_flow(name)
    lived = world.run(live(world.operated, flow, name))
    assert judge_life(flow, lived) == []
    assert world.operated.world.problems == []
