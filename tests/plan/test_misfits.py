"""An object whose spec cannot be read: what is wrong is told, what runs stays, and it can be deleted."""

from typing import Any

import pytest

from heliostat.api.raycluster import ObjectMeta
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.plan.kind import Kind
from heliostat.plan.raycronjob.kind import RAY_CRON_JOB
from heliostat.plan.rayjob import deletion as job_deletion
from heliostat.plan.rayjob.kind import RAY_JOB
from heliostat.plan.rayservice import deletion as service_deletion
from heliostat.plan.rayservice.kind import RAY_SERVICE
from plan.worlds import NAMESPACE, NOW, Tree, patches

MISFIT = Problem(path=("spec", "suspend"), problem="Expected `bool`", fix="make it true or false")
DELETED = "2026-01-01T00:00:00Z"
MINE = "example.com/mine"
WITH_FINALIZER = [
    pytest.param(RAY_JOB, job_deletion.FINALIZER, id="RayJob"),
    pytest.param(RAY_SERVICE, service_deletion.FINALIZER, id="RayService"),
]


def plan(kind: Kind[Any, Any, Any], spec: Tree, **fields: Any) -> Plan:
    metadata = ObjectMeta(name="demo", namespace=NAMESPACE, uid="uid", resource_version="7", **fields)
    return kind.plan_misfit(metadata, spec, MISFIT, NOW)


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [
        (RAY_JOB, "The RayJob spec is invalid: "),
        (RAY_SERVICE, "The RayService spec is invalid: "),
        (RAY_CRON_JOB, ""),
    ],
    ids=["RayJob", "RayService", "RayCronJob"],
)
def test_what_is_wrong_is_told_and_nothing_is_touched(kind: Kind[Any, Any, Any], prefix: str) -> None:
    found = plan(kind, {"suspend": "soon"})
    assert found.is_empty
    (told,) = found.events
    assert (told.type, told.reason) == ("Warning", f"Invalid{kind.resource.kind}Spec")
    assert told.note.startswith(f"{NAMESPACE}/demo: {prefix}spec.suspend")
    assert [wait.until for wait in found.waits] == [MISFIT.fix]


@pytest.mark.parametrize(("kind", "finalizer"), WITH_FINALIZER)
def test_it_can_be_deleted(kind: Kind[Any, Any, Any], finalizer: str) -> None:
    (patch,) = patches(plan(kind, {"suspend": "soon"}, finalizers=[finalizer, MINE], deletion_timestamp=DELETED))
    assert patch.changes == {"metadata": {"finalizers": [MINE]}}


@pytest.mark.parametrize(("kind", "finalizer"), WITH_FINALIZER)
def test_nothing_else_is_let_go(kind: Kind[Any, Any, Any], finalizer: str) -> None:
    assert plan(kind, {}, finalizers=[finalizer]).is_empty, "it lives"
    assert plan(kind, {}, finalizers=[MINE], deletion_timestamp=DELETED).is_empty, "somebody else's finalizer"
    elsewhere = {"managedBy": "kueue.x-k8s.io/multikueue"}
    assert plan(kind, elsewhere, finalizers=[finalizer], deletion_timestamp=DELETED).is_empty, "not ours"
