"""An imagined world refuses what an API server would refuse: plans that are rendered or tested in it are honest."""

from typing import Any

import pytest

from heliostat.kube.plan import Create, Delete, Patch, Plan, Ref, Stage, WriteStatus
from heliostat.plan.imagined import ImaginationError, ImaginedWorld

REF = Ref("v1", "ConfigMap", "ns", "one")


def config(name: str = "one", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns", **metadata}}


def plan(*actions: Any) -> Plan:
    return Plan(stages=(Stage("all", actions),))


def test_a_create_gives_a_uid_and_a_version_and_leaves_what_is_there() -> None:
    world = ImaginedWorld().carry_out(plan(Create(config(), "Missing")))
    made = world.find(REF)
    assert made is not None
    assert made["metadata"]["uid"]
    assert world.carry_out(plan(Create(config(labels={"a": "b"}), "Missing"))).find(REF) == made


@pytest.mark.parametrize(
    "action",
    [
        Delete(REF, "another", "NotWanted"),
        Patch(REF, "uid-1001", "1", {"data": {}}, "Drifted"),
        WriteStatus(REF, "uid-1001", "1", {}, "StatusChanged"),
        Delete(Ref("v1", "ConfigMap", "ns", "two"), "uid-1001", "NotWanted"),
    ],
)
def test_writes_that_name_another_object_or_version_are_refused(action: Any) -> None:
    world = ImaginedWorld().create(config())
    with pytest.raises(ImaginationError):
        world.carry_out(plan(action))


def test_an_object_with_a_finalizer_goes_with_its_last_one() -> None:
    world = ImaginedWorld().create(config(finalizers=["f"])).carry_out(plan(Delete(REF, "uid-1001", "NotWanted")))
    leaving = world.find(REF)
    assert leaving is not None
    assert leaving["metadata"]["deletionTimestamp"]
    version = leaving["metadata"]["resourceVersion"]
    release = Patch(REF, "uid-1001", version, {"metadata": {"finalizers": None}}, "NotWanted")
    assert world.carry_out(plan(release)).find(REF) is None
