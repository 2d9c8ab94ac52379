"""Pods that nobody is left to end: their Node is gone, never was or is out of service, or they never had one."""

from conformance.controllers.model import Change, Create, Json, Look, Pick, Remove, Scenario, Until
from conformance.controllers.objects import HOLD, LONG_AGO, SUCCEEDED, becomes, job, node, pod, running

NODE = "{ns}-a"
HELD = {"finalizers": [HOLD]}
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
IGNORE = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
ROUNDS = 150.0  # a quarantine and two rounds of the real one, with room


def _gone(name: str) -> Until:
    return Until(Pick(name=name), 0, ROUNDS)


def _failed(name: str) -> Until:
    return Until(Pick(name=name, where={"status.phase": "Failed", "metadata.deletionTimestamp": "*"}), 1, ROUNDS)


def _not_ready() -> Json:
    ready = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "lastHeartbeatTime": LONG_AGO}
    return {"status": {"conditions": [{**ready, "lastTransitionTime": LONG_AGO}]}}


POD_GARBAGE = (
    Scenario(
        name="podgc-node-gone",
        steps=(
            Create(node(NODE)),
            Create(pod("free", status=running(), nodeName=NODE)),
            Create(pod("held", status=running(), nodeName=NODE, metadata=HELD)),
            Create(pod("over", status=SUCCEEDED, nodeName=NODE, metadata=HELD)),
            Remove(Pick(kind="Node")),
            _gone("free"),
            _failed("held"),
            Until(Pick(name="over", where={"metadata.deletionTimestamp": "*"}), 1, ROUNDS),
            Look("end"),
        ),
    ),
    Scenario(
        name="podgc-node-never-was",
        steps=(
            Create(pod("leaving", status=running(), nodeName=NODE)),
            Create(pod("held", nodeName=NODE, metadata=HELD)),
            Remove(Pick(name="leaving")),
            _gone("leaving"),
            _failed("held"),
            Look("end"),
        ),
    ),
    Scenario(
        name="podgc-never-scheduled",
        steps=(
            Create(pod("held", metadata=HELD)),
            Create(pod("over", status=SUCCEEDED, metadata=HELD)),
            Remove(Pick()),
            _failed("held"),
            Look("end"),
        ),
    ),
    Scenario(
        name="podgc-out-of-service",
        steps=(
            Create(node(NODE)),
            Create(pod("free", status=running(), nodeName=NODE)),
            Create(pod("held", status=running(), nodeName=NODE, metadata=HELD)),
            Remove(Pick()),
            Look("leaving"),
            Change(Pick(kind="Node"), _not_ready(), "status"),
            Change(Pick(kind="Node"), {"spec": {"taints": [OUT_OF_SERVICE]}}),
            _gone("free"),
            _failed("held"),
            Look("end"),
        ),
    ),
    Scenario(
        name="podgc-out-of-service-but-ready",
        steps=(
            Create(node(NODE, taints=[OUT_OF_SERVICE])),
            Create(pod("leaving", status=running(), nodeName=NODE)),
            Remove(Pick()),
            Until(Pick(), 0, seconds=25),
            Look("end"),
        ),
    ),
    Scenario(
        name="podgc-job-goes-on-elsewhere",
        steps=(
            Create(node(NODE)),
            Create(job("work", backoffLimit=0, podFailurePolicy={"rules": [IGNORE]}, pod={"nodeName": NODE})),
            Until(Pick()),
            becomes(running()),
            Remove(Pick(kind="Node")),
            Until(Pick(where={"status.phase": "Running"}), 0, ROUNDS),
            Look("end"),
        ),
    ),
)
