"""Every recorded case gets KubeRay's verdict: refused or accepted, under the same event reason, in the same words."""

from typing import Any

import pytest

from golden_cases import CASE_COUNT, GoldenCase, absence, cases
from heliostat.api.cluster_features import is_managed_here
from heliostat.api.documents import Refused, accept
from heliostat.api.raycluster import RayCluster
from heliostat.api.raycronjob import RayCronJob
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.api.validation import cluster_problems, event_of, job_problems, refusal, service_problems
from heliostat.kube.documents import read_documents

ADMISSION = ("admission", "")
# The controllers of these kinds do not validate, so a refused RayCluster still gets them (raycluster.md R1-6).
MADE_WITHOUT_A_VERDICT = {"NetworkPolicy", "Issuer", "Certificate"}

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))


def recorded_verdict(case: GoldenCase, kinds: set[str]) -> set[tuple[str, str]]:
    """Reasons and messages of refusals; empty when the objects were accepted or left alone."""
    expected = case.expected
    if "admission_error" in expected:
        return {ADMISSION}
    if {made["kind"] for made in expected["creates"]} - MADE_WITHOUT_A_VERDICT:
        return set()
    invalid = [event for event in expected["events"] if event["reason"].startswith("Invalid")]
    assert all(event["type"] == "Warning" and event["object"] in kinds for event in invalid)
    return {(event["reason"], event["message"]) for event in invalid}


def our_verdict(tree: dict[str, Any], settings: Settings) -> tuple[str, str] | None:
    taken = accept(tree)
    if isinstance(taken, Refused):
        return ADMISSION
    subject = taken.object
    assert not isinstance(subject, RayCronJob), "no golden case holds one"
    if not is_managed_here(subject.spec.managed_by):
        return None
    if isinstance(subject, RayCluster):
        problems = cluster_problems(subject, settings)
    elif isinstance(subject, RayJob):
        problems = job_problems(subject, settings)
    else:
        problems = service_problems(subject, settings)
    refused = refusal(problems)
    if refused is None:
        return None
    event = event_of(refused, "NAMESPACE", subject.metadata.name)
    return event.reason, event.note


@pytest.mark.parametrize("case", cases(), ids=str)
def test_verdict_is_kuberays(case: GoldenCase) -> None:
    trees = [document.tree for document in read_documents(case.input.read_bytes(), str(case))]
    ours = [tree for tree in trees if str(tree["apiVersion"]).startswith("ray.io/")]
    verdicts = {verdict for tree in ours if (verdict := our_verdict(tree, case.settings)) is not None}
    recorded = recorded_verdict(case, {tree["kind"] for tree in ours})
    assert verdicts == recorded


def test_all_cases_are_there() -> None:
    assert len(cases()) >= CASE_COUNT
