"""Whole lives of RayJobs that were recorded from KubeRay, lived again with a scripted Ray in virtual time."""

import pytest

from conformance.operator.job_flows import judge_job_life, judge_job_status, list_job_flows, live_job, load_flow
from conformance.operator.running import Worlds
from golden_cases import SETTINGS_OF_FOLDER, absence

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))

FLOWS = list_job_flows()
SLOW = {"rayjob-active-deadline"}  # its Pods were not ready within six seconds
DIFFERING = {"rayjob-invalid-then-mended"}  # docs/differences.md: rayjob-mended


def test_every_recorded_life_of_a_rayjob_is_lived() -> None:
    assert len(FLOWS) == 14


@pytest.mark.parametrize("name", [name for name in FLOWS if name not in DIFFERING])
def test_a_life_passes_through_what_kuberays_did(name: str, worlds: Worlds) -> None:
    world = worlds.of("samples", SETTINGS_OF_FOLDER["samples"], is_slow=name in SLOW)
    flow = load_flow(name)
    lived = world.run(live_job(world.operated, flow, name))
    assert judge_job_life(name, flow, lived) == []
    assert world.operated.world.problems == []


def test_a_refused_rayjob_says_what_kuberays_did_and_recovers_when_mended(worlds: Worlds) -> None:
    world = worlds.of("samples", SETTINGS_OF_FOLDER["samples"])
    flow = load_flow("rayjob-invalid-then-mended")
    lived = world.run(live_job(world.operated, flow, "mended"))
    refused = lived.writes[0][0].answer["status"]
    assert list(judge_job_status(flow["final_status"][0]["status"], refused, lived.jobs[0])) == []
    assert lived.jobs[0]["status"]["jobDeploymentStatus"] == "Complete"
