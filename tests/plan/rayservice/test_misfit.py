"""A RayService whose spec cannot be read: what is wrong is told, what runs stays, and it can be deleted."""

from typing import Any

from msgspec import structs

from heliostat.api.raycluster import ObjectMeta
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.plan.rayservice.deletion import FINALIZER
from heliostat.plan.rayservice.kind import RAY_SERVICE
from plan.rayservice.service_worlds import NAME, begin, spec_of
from plan.worlds import NAMESPACE, NOW, Tree, patches

MISFIT = Problem(path=("spec", "suspend"), problem="Expected `bool`", fix="make it true or false")


def metadata(**fields: Any) -> ObjectMeta:
    return structs.replace(spec_of(begin()).metadata, finalizers=[FINALIZER, "example.com/mine"], **fields)


def plan(of: ObjectMeta, spec: Tree) -> Plan:
    return RAY_SERVICE.plan_misfit(of, spec, MISFIT, NOW)


def test_what_is_wrong_is_told_and_nothing_is_touched() -> None:
    found = plan(metadata(), {"suspend": "soon"})
    assert found.is_empty
    (told,) = found.events
    assert (told.type, told.reason) == ("Warning", "InvalidRayServiceSpec")
    assert told.note.startswith(f"{NAMESPACE}/{NAME}: The RayService spec is invalid: spec.suspend")


def test_it_can_be_deleted() -> None:
    deleted = metadata(deletion_timestamp="2026-01-01T00:00:00Z")
    (patch,) = patches(plan(deleted, {"suspend": "soon"}))
    assert patch.changes == {"metadata": {"finalizers": ["example.com/mine"]}}
    assert plan(structs.replace(deleted, finalizers=["example.com/mine"]), {}).is_empty
    assert plan(deleted, {"managedBy": "kueue.x-k8s.io/multikueue"}).is_empty, "not ours"
