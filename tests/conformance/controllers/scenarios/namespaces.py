"""The end of namespaces: with content, with finalizers that nobody takes away, with Pods that do not go."""

from conformance.controllers.model import Change, Create, Look, Pick, Remove, Scenario, Until
from conformance.controllers.objects import HOLD, SHARED_NODE, config_map, deployment, pod, service

SELF = Pick(kind="Namespace", name="{ns}")
ENDING = Pick(kind="Namespace", name="{ns}", where={"status.conditions.NamespaceContentRemaining.status": "True"})
SHOWS = ("Namespace", "ConfigMap", "Pod", "Deployment", "ReplicaSet", "Service", "ServiceAccount", "Secret")
RELEASE = {"metadata": {"finalizers": None}}

NAMESPACES = (
    Scenario(name="ns-empty", shows=SHOWS, steps=(Look("before"), Remove(SELF), Until(SELF, 0), Look("end"))),
    Scenario(
        name="ns-with-content",
        shows=SHOWS,
        steps=(
            Create(config_map("one")),
            Create(service("web")),
            Create(deployment("web", replicas=2)),
            Until(Pick(), 2),
            Look("before"),
            Remove(SELF),
            Until(SELF, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="ns-with-a-stuck-finalizer",
        shows=SHOWS,
        steps=(
            Create(config_map("stuck", finalizers=[HOLD])),
            Remove(SELF),
            Until(ENDING),
            Look("stuck"),
            Create(config_map("late")),
            Change(Pick(kind="ConfigMap", name="stuck"), RELEASE),
            Until(SELF, 0),
            Look("end"),
        ),
    ),
    Scenario(
        name="ns-with-several-stuck-finalizers",
        shows=SHOWS,
        steps=(
            Create(config_map("stuck", finalizers=[HOLD])),
            Create(config_map("stuck-too", finalizers=[HOLD, "example.com/other"])),
            Create(service("stuck", finalizers=["example.com/other"])),
            Remove(SELF),
            Until(ENDING),
            Look("stuck"),
            Change(Pick(kind="Service"), RELEASE),
            Change(Pick(kind="ConfigMap", where={"metadata.finalizers": "*"}), RELEASE),
            Until(SELF, 0),
        ),
    ),
    Scenario(
        name="ns-with-a-finalizer-of-its-own",
        shows=SHOWS,
        steps=(
            Create(config_map("one")),
            Change(SELF, {"metadata": {"finalizers": [HOLD]}}),
            Remove(SELF),
            Until(Pick(kind="ConfigMap", name="one"), 0),
            Look("held"),
            Change(SELF, RELEASE),
            Until(SELF, 0),
        ),
    ),
    Scenario(
        name="ns-with-a-pod-that-does-not-go",
        shows=("Namespace", "Pod", "ConfigMap"),
        steps=(
            Create(pod("slow", nodeName=SHARED_NODE)),
            Create(config_map("later")),
            Remove(SELF),
            Until(Pick(name="slow", where={"metadata.deletionTimestamp": "*"})),
            Look("waiting"),
            Remove(Pick(name="slow"), grace_seconds=0),
            Until(SELF, 0, seconds=90),
        ),
    ),
)
