"""A name is persisted before it is used."""

import pytest

from heliostat.kube.persisted import find_premature_use
from heliostat.kube.plan import Action, Create, Delete, Effect, Plan, Ref, Stage, WriteStatus

RAY_JOB = Ref("ray.io/v1", "RayJob", "default", "job")
ID = "job-x7k2p"


def status(*introduces: str) -> WriteStatus:
    return WriteStatus(RAY_JOB, "u", "1", {"jobId": ID}, "NewAttempt", introduces)


@pytest.mark.parametrize(
    "action",
    [
        Effect("submit-job", {"submission_id": ID}, "k", "Missing"),
        Create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ID}}, "Missing"),
        Create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"a": [f"-- {ID}"]}}, "Missing"),
        Delete(Ref("ray.io/v1", "RayCluster", "default", ID), "u", "Done"),
    ],
)
def test_an_action_that_names_what_its_own_plan_introduces_is_found(action: Action) -> None:
    plan = Plan(stages=(Stage("submit", (action,)),), status=status(ID))
    assert find_premature_use(plan) == (ID, action)


def test_what_stands_in_the_status_already_and_what_is_only_written_down_is_fine() -> None:
    submit = Stage("submit", (Effect("submit-job", {"submission_id": ID}, "k", "Missing"),))
    assert find_premature_use(Plan(stages=(submit,), status=status())) is None
    assert find_premature_use(Plan(status=status(ID))) is None
    assert find_premature_use(Plan(stages=(submit,), status=status("job-other"))) is None
    assert find_premature_use(Plan(stages=(submit,))) is None
