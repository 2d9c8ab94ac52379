"""``heliostat plan`` of a RayJob: what comes next, and when it cleans up."""

from typing import Any

from heliostat.api.settings import Settings
from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import encode_json
from heliostat.kube.plan import Create
from heliostat.plan.against import Planned, plan_document
from heliostat.plan.because import Hold
from heliostat.plan.kind import Surroundings
from plan.rayjob.job_worlds import act, begin, job_tree
from plan.worlds import NOW


def planned(tree: Any, *objects: Any, unread: dict[str, str] | None = None) -> Planned:
    there = Surroundings(objects=objects, unread=unread or {})
    (document,) = read_documents(encode_json(tree), "job.json")
    found = plan_document(document, there, "ns", Settings(), NOW)
    assert found is not None
    return found


def test_a_new_job_is_pledged_first_and_its_schedule_is_told() -> None:
    found = planned(job_tree(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=1800))
    assert found.plan is not None
    (action,) = found.plan.actions()
    assert action.because == "Pledged"
    assert found.notes == ("clean-up after the end: cluster at +30 min",)


def test_what_is_there_counts() -> None:
    world = act(act(begin()))
    found = planned(job_tree(), world.job)
    assert found.plan is not None
    (action,) = found.plan.actions()
    assert isinstance(action, Create)
    assert action.object["kind"] == "RayCluster"


def test_a_kind_that_was_not_read_is_waited_for() -> None:
    world = act(act(begin()))
    found = planned(job_tree(), world.job, unread={"RayCluster.ray.io": "refused"})
    assert found.plan is not None
    assert found.plan.is_empty
    assert [wait.reason for wait in found.plan.waits] == [Hold.NOT_KNOWN]


def test_a_refused_job_says_so() -> None:
    found = planned(job_tree(submissionMode="HTTPMode") | {"spec": job_tree(ttlSecondsAfterFinished=5)["spec"]})
    assert any(problem.severity == "error" for problem in found.problems)
