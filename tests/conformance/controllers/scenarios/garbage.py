"""Garbage collection: what goes with its owner, what stays, what an owner waits for; owners that are not there."""

from conformance.controllers.model import Change, Create, Look, Pick, Remove, Scenario, Until
from conformance.controllers.objects import HOLD, SHARED_NODE, config_map, deployment, job, owner, running

OWNER = Pick(kind="ConfigMap", name="owner")
CHILD = Pick(kind="ConfigMap", name="child")
RELEASE = {"metadata": {"finalizers": None}}
LOST = "11111111-2222-3333-4444-555555555555"


def _child(name: str = "child", *owners: object, **metadata: object) -> Create:
    return Create(config_map(name, ownerReferences=list(owners) or [owner("ConfigMap", "owner")], **metadata))


GARBAGE = (
    Scenario(
        name="gc-background",
        steps=(Create(config_map("owner")), _child(), Remove(OWNER), Until(CHILD, 0), Look("end")),
    ),
    Scenario(
        name="gc-foreground-waits-for-a-blocking-child",
        steps=(
            Create(config_map("owner")),
            _child("child", owner("ConfigMap", "owner", blocks=True), finalizers=[HOLD]),
            Look("before"),
            Remove(OWNER, propagation="Foreground"),
            Until(Pick(kind="ConfigMap", name="child", where={"metadata.deletionTimestamp": "*"})),
            Look("waiting"),
            Change(CHILD, RELEASE),
            Until(OWNER, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-foreground-does-not-wait-for-others",
        steps=(
            Create(config_map("owner")),
            _child("child", finalizers=[HOLD]),
            Look("before"),
            Remove(OWNER, propagation="Foreground"),
            Until(OWNER, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-foreground-goes-down-the-generations",
        steps=(
            Create(config_map("owner")),
            _child("child", owner("ConfigMap", "owner", blocks=True)),
            _child("grandchild", owner("ConfigMap", "child", blocks=True), finalizers=[HOLD]),
            Look("before"),
            Remove(OWNER, propagation="Foreground"),
            Until(Pick(kind="ConfigMap", name="grandchild", where={"metadata.deletionTimestamp": "*"})),
            Look("waiting"),
            Change(Pick(kind="ConfigMap", name="grandchild"), RELEASE),
            Until(OWNER, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-orphan",
        steps=(
            Create(config_map("owner")),
            _child(),
            Look("before"),
            Remove(OWNER, propagation="Orphan"),
            Until(OWNER, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-missing-owner",
        steps=(_child("child", owner("ConfigMap", "nobody", uid=LOST)), Until(CHILD, 0), Look("end")),
    ),
    Scenario(
        name="gc-owner-of-the-same-name-but-another-uid",
        steps=(
            Create(config_map("owner")),
            _child("child", owner("ConfigMap", "owner", uid=LOST)),
            Until(CHILD, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-one-owner-of-two-is-missing",
        steps=(
            Create(config_map("owner")),
            _child("child", owner("ConfigMap", "owner"), owner("ConfigMap", "nobody", uid=LOST)),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-one-owner-of-two-goes-foreground",
        steps=(
            Create(config_map("owner")),
            Create(config_map("other")),
            _child("child", owner("ConfigMap", "owner", blocks=True), owner("ConfigMap", "other", blocks=True)),
            Look("before"),
            Remove(OWNER, propagation="Foreground"),
            Until(OWNER, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-cycle-background",
        steps=(
            Create(config_map("owner")),
            _child(),
            Change(OWNER, {"metadata": {"ownerReferences": [owner("ConfigMap", "child")]}}),
            Look("a cycle lives"),
            Remove(OWNER),
            Until(CHILD, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-cycle-foreground",
        steps=(
            Create(config_map("owner")),
            _child("child", owner("ConfigMap", "owner", blocks=True)),
            Change(OWNER, {"metadata": {"ownerReferences": [owner("ConfigMap", "child", blocks=True)]}}),
            Look("a cycle lives"),
            Remove(OWNER, propagation="Foreground"),
            Until(CHILD, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-owns-itself",
        steps=(
            Create(config_map("owner")),
            Change(OWNER, {"metadata": {"ownerReferences": [owner("ConfigMap", "owner", blocks=True)]}}),
            Look("before"),
            Remove(OWNER, propagation="Foreground"),
            Until(OWNER, 0, seconds=10),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-owner-in-another-namespace",
        steps=(
            Create({**config_map("{ns}-owner", namespace="default")}),
            _child("child", owner("ConfigMap", "{ns}-owner")),
            Until(CHILD, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-cluster-wide-owner",
        shows=("ConfigMap", "PriorityClass"),
        steps=(
            Create({"kind": "PriorityClass", "metadata": {"name": "{ns}-owner"}, "value": 7}),
            _child("child", owner("PriorityClass", "{ns}-owner", api_version="scheduling.k8s.io/v1")),
            Look("before"),
            Remove(Pick(kind="PriorityClass", name="{ns}-owner")),
            Until(CHILD, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-cluster-wide-child-of-a-namespaced-owner",
        shows=("ConfigMap", "PriorityClass"),
        steps=(
            Create(config_map("owner")),
            Create(
                {
                    "kind": "PriorityClass",
                    "metadata": {"name": "{ns}-child", "ownerReferences": [owner("ConfigMap", "owner")]},
                    "value": 7,
                }
            ),
            Look("before"),
            Remove(OWNER),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-owner-of-an-unknown-kind",
        steps=(
            _child("child", owner("Wonder", "owner", uid=LOST, api_version="example.com/v1")),
            Look("end", quiet_seconds=4),
        ),
    ),
    Scenario(
        name="gc-deployment-background",
        steps=(
            Create(deployment("web", replicas=2)),
            Until(Pick(), 2),
            Look("before"),
            Remove(Pick(kind="Deployment", name="web")),
            Until(Pick(), 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-deployment-foreground",
        steps=(
            Create(deployment("web", replicas=2, pod={"nodeName": SHARED_NODE})),
            Until(Pick(), 2),
            Look("before"),
            Remove(Pick(kind="Deployment", name="web"), propagation="Foreground"),
            Until(Pick(where={"metadata.deletionTimestamp": "*"}), 2),
            Look("waiting"),
            Remove(Pick(), grace_seconds=0),
            Until(Pick(kind="Deployment"), 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-deployment-orphan",
        steps=(
            Create(deployment("web", replicas=1)),
            Until(Pick(), 1),
            Look("before"),
            Remove(Pick(kind="Deployment", name="web"), propagation="Orphan"),
            Until(Pick(kind="Deployment"), 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-job-background",
        steps=(
            Create(job("work", parallelism=2)),
            Until(Pick(), 2),
            Change(Pick(at_most=1), {"status": running()}, "status"),
            Remove(Pick(kind="Job", name="work"), propagation="Background"),
            Until(Pick(), 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="gc-job-orphan",
        steps=(
            Create(job("work", parallelism=2)),
            Until(Pick(), 2),
            Look("before"),
            Remove(Pick(kind="Job", name="work"), propagation="Orphan"),
            Until(Pick(kind="Job"), 0),
            Look("end"),
        ),
    ),
)
