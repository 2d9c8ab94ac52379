"""Objects of others under a RayJob's names are left alone (docs/differences.md: rayjob-name-taken)."""

from typing import Any

from msgspec import structs

from heliostat.kube.plan import Create
from heliostat.plan.because import Hold
from plan.rayjob.job_worlds import JobWorld, act, begin, plan_world, settle
from plan.worlds import NAMESPACE, Tree


def foreign(kind: str, api_version: str, name: str, **parts: Any) -> Tree:
    metadata = {"name": name, "namespace": NAMESPACE, "uid": "theirs", "resourceVersion": "1"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}, **parts}


def prepared(*objects: Tree, **spec: Any) -> JobWorld:
    """With a cluster that is ready."""
    world = structs.replace(begin(**spec), objects=objects)
    for _ in range(4):
        world = settle(act(world))
    return world


def test_a_submitter_job_of_somebody_else_is_waited_for() -> None:
    done = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    world = act(prepared(foreign("Job", "batch/v1", "job", **done)))
    assert world.phase == "Initializing"
    plan = plan_world(world)
    assert Hold.NAME_TAKEN in [wait.reason for wait in plan.waits]
    assert plan.is_empty


def test_a_service_of_somebody_else_stops_nothing() -> None:
    world = act(prepared(foreign("Service", "v1", "job-head-svc"), submissionMode="HTTPMode"))
    assert world.phase == "Running"
    assert not [action for action in plan_world(world).actions() if isinstance(action, Create)]


def test_a_phase_that_nobody_knows_is_left_alone() -> None:
    world = prepared(submissionMode="HTTPMode")
    assert world.job is not None
    odd = {**world.job, "status": {**world.status, "jobDeploymentStatus": "Dreaming"}}
    plan = plan_world(structs.replace(world, job=odd))
    assert plan.is_empty
    assert plan.wake_after == 60
