"""Deployments and ReplicaSets: rollouts in both ways, back, paused, stuck, scaled; whose Pods are whose."""

from conformance.controllers.model import Change, Create, Look, Pick, Remove, Scenario, Step, Until
from conformance.controllers.objects import (
    SHARED_NODE,
    becomes,
    deployment,
    failed,
    image,
    pending,
    pod,
    quota,
    replica_set,
    rolling,
    running,
)

WEB = Pick(kind="Deployment", name="web")
SET = Pick(kind="ReplicaSet", name="web")
READY = becomes(running())


def _new(count: int, tag: str = "2") -> Until:
    """So many Pods of the new image wait."""
    return Until(Pick(where={"spec.containers.main.image": f"example.com/app:{tag}", "status.phase": "Pending"}), count)


def _running(count: int) -> Until:
    return Until(Pick(where={"status.phase": "Running"}), count)


def _rolled_out(name: str, *steps: Step, replicas: int = 1, **spec: object) -> Scenario:
    """Steps after the first rollout is complete."""
    begin = (
        Create(deployment("web", replicas=replicas, **spec)),
        Until(pending(), replicas),
        READY,
        Until(Pick(kind="Deployment", where={"status.availableReplicas": replicas})),
    )
    return Scenario(name=name, steps=(*begin, *steps))


DEPLOYMENTS = (
    Scenario(
        name="deploy-rollout",
        steps=(
            Create(deployment("web", replicas=3, metadata={"annotations": {"example.com/why": "test"}})),
            Until(pending(), 3),
            Look("created"),
            becomes(running(), at_most=1),
            Until(Pick(kind="Deployment", where={"status.availableReplicas": 1})),
            Look("one ready"),
            READY,
            Until(Pick(kind="Deployment", where={"status.availableReplicas": 3})),
            Look("end"),
        ),
    ),
    _rolled_out(
        "deploy-rolling-update",
        Change(WEB, image("2")),
        _new(1),
        Look("begun"),
        READY,
        _new(1),
        Look("half"),
        READY,
        Until(Pick(), 2),
        Look("end"),
        replicas=2,
        strategy=rolling(1, 0),
    ),
    _rolled_out(
        "deploy-unavailable-first",
        Change(WEB, image("2")),
        _new(1),
        Look("begun"),
        READY,
        _new(1),
        READY,
        _new(1),
        READY,
        _running(3),
        Until(Pick(), 3),
        Look("end"),
        replicas=3,
        strategy=rolling(0, 1),
    ),
    _rolled_out(
        "deploy-percentages",
        Change(WEB, image("2")),
        _new(3),
        Look("begun"),
        becomes(running(), at_most=2),
        Look("two ready"),
        replicas=4,
        strategy=rolling("25%", "50%"),
    ),
    _rolled_out(
        "deploy-recreate",
        Change(WEB, image("2")),
        _new(2),
        Look("recreated"),
        READY,
        _running(2),
        Look("end"),
        replicas=2,
        strategy={"type": "Recreate"},
    ),
    _rolled_out(
        "deploy-recreate-waits",
        Change(WEB, image("2")),
        Until(Pick(where={"metadata.deletionTimestamp": "*"})),
        Look("waiting"),
        Remove(Pick(), grace_seconds=0),
        _new(1),
        Look("end"),
        strategy={"type": "Recreate"},
        pod={"nodeName": SHARED_NODE},
    ),
    _rolled_out(
        "deploy-back-again",
        Change(WEB, image("2")),
        _new(1),
        READY,
        Until(Pick(), 1),
        Look("second"),
        Change(WEB, image("1")),
        _new(1, "1"),
        READY,
        Until(Pick(), 1),
        Look("first again"),
    ),
    _rolled_out(
        "deploy-back-before-the-end",
        Change(WEB, image("2")),
        _new(1),
        Look("stuck"),
        Change(WEB, image("1")),
        _new(0),
        Look("end"),
        replicas=2,
        strategy=rolling(1, 0),
    ),
    _rolled_out(
        "deploy-paused",
        Change(WEB, {"spec": {"paused": True}}),
        Look("paused"),
        Change(WEB, image("2")),
        Look("changed"),
        Change(WEB, {"spec": {"replicas": 2}}),
        Until(Pick(), 2),
        Look("scaled"),
        Change(WEB, {"spec": {"paused": False}}),
        _new(1),
        Look("resumed"),
        strategy=rolling(1, 0),
    ),
    Scenario(
        name="deploy-born-paused",
        steps=(
            Create(deployment("web", paused=True)),
            Look("paused"),
            Change(WEB, {"spec": {"paused": False}}),
            Until(pending()),
            Look("resumed"),
        ),
    ),
    _rolled_out(
        "deploy-scaled",
        Change(WEB, {"spec": {"replicas": 3}}),
        Until(pending(), 2),
        Look("up"),
        READY,
        _running(3),
        Change(WEB, {"spec": {"replicas": 1}}),
        Until(Pick(), 1),
        Look("down"),
        Change(WEB, {"spec": {"replicas": 0}}),
        Until(Pick(), 0),
        Look("none"),
    ),
    _rolled_out(
        "deploy-scaled-in-the-middle",
        Change(WEB, image("2")),
        _new(2),
        Look("begun"),
        Change(WEB, {"spec": {"replicas": 8}}),
        Look("proportional"),
        replicas=4,
        strategy=rolling(1, 1),
    ),
    _rolled_out(
        "deploy-again-before-the-end",
        Change(WEB, image("2")),
        _new(1),
        Change(WEB, image("3")),
        _new(1, "3"),
        Look("third"),
        READY,
        _new(1, "3"),
        READY,
        Until(Pick(), 2),
        Look("end"),
        replicas=2,
        strategy=rolling(1, 0),
    ),
    _rolled_out(
        "deploy-history-limit",
        Change(WEB, image("2")),
        _new(1),
        READY,
        Until(Pick(), 1),
        Change(WEB, image("3")),
        _new(1, "3"),
        READY,
        Until(Pick(), 1),
        Look("end"),
        revisionHistoryLimit=1,
    ),
    Scenario(
        name="deploy-adopts-a-replica-set",
        steps=(
            Create(replica_set("web", labels={"app": "web"})),
            Until(pending()),
            Create(deployment("web")),
            Look("adopted"),
        ),
    ),
    Scenario(
        name="deploy-selector-shared",
        steps=(
            Create(deployment("web", metadata={"name": "web"})),
            Until(pending(), 1),
            Create(deployment("web", metadata={"name": "other"})),
            Until(pending(), 2),
            Look("both"),
        ),
    ),
    Scenario(
        name="deploy-progress-deadline",
        steps=(
            Create(deployment("web", progressDeadlineSeconds=2)),
            Until(Pick(kind="Deployment", where={"status.conditions.Progressing.status": "False"})),
            Look("exceeded"),
            READY,
            Until(Pick(kind="Deployment", where={"status.conditions.Available.status": "True"})),
            Look("after all"),
        ),
    ),
    Scenario(
        name="deploy-image-that-never-comes",
        steps=(
            Create(deployment("web", replicas=2, progressDeadlineSeconds=3)),
            Until(pending(), 2),
            Change(
                pending(),
                {
                    "status": {
                        "phase": "Pending",
                        "containerStatuses": [
                            {
                                "name": "main",
                                "image": "example.com/app:1",
                                "imageID": "",
                                "ready": False,
                                "restartCount": 0,
                                "state": {"waiting": {"reason": "ImagePullBackOff"}},
                            }
                        ],
                    }
                },
                "status",
            ),
            Until(Pick(kind="Deployment", where={"status.conditions.Progressing.status": "False"})),
            Look("end"),
        ),
    ),
    Scenario(
        name="deploy-quota-refuses",
        steps=(
            Create(quota("few", pods="1")),
            Look("quota"),
            Create(deployment("web", replicas=3)),
            Until(pending()),
            Look("end"),
            Change(Pick(kind="ResourceQuota"), {"spec": {"hard": {"pods": "5"}}}),
            Until(pending(), 3),
            Look("after all"),
        ),
    ),
    Scenario(
        name="deploy-missing-service-account",
        steps=(Create(deployment("web", pod={"serviceAccountName": "nobody"})), Look("end")),
    ),
    Scenario(
        name="deploy-min-ready-seconds",
        steps=(
            Create(deployment("web", minReadySeconds=1000000000, progressDeadlineSeconds=2000000000)),
            Until(pending()),
            READY,
            Look("ready, not available"),
            Change(WEB, {"spec": {"minReadySeconds": 1}}),
            Until(Pick(kind="Deployment", where={"status.availableReplicas": 1})),
            Look("available"),
        ),
    ),
    Scenario(name="deploy-no-replicas", steps=(Create(deployment("web", replicas=0)), Look("end"))),
    _rolled_out(
        "deploy-pod-deleted-by-hand",
        Remove(Pick()),
        Until(pending()),
        Look("replaced"),
        READY,
        _running(1),
        Look("end"),
    ),
    _rolled_out(
        "deploy-pod-fails",
        Change(Pick(), {"status": failed()}, "status"),
        Until(pending()),
        Look("replaced"),
    ),
    _rolled_out(
        "deploy-annotations-follow",
        Change(WEB, {"metadata": {"annotations": {"example.com/why": "changed"}, "labels": {"team": "a"}}}),
        Look("end"),
    ),
    Scenario(
        name="deploy-impossible-specs",
        steps=(
            Create(deployment("negative", replicas=-1)),
            Create(deployment("standstill", strategy=rolling(0, 0))),
            Create(deployment("mismatch", selector={"matchLabels": {"app": "other"}})),
            Create(deployment("selects-all", selector={})),
            Create(deployment("too-late", minReadySeconds=10, progressDeadlineSeconds=5)),
            Create(deployment("never", pod={"restartPolicy": "Never"})),
            Create(deployment("odd-strategy", strategy={"type": "Odd"})),
            Create(deployment("both", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})),
            Create(deployment("too-much", strategy=rolling(1, "101%"))),
            Create(deployment("no-percentage", strategy=rolling("some", 1))),
            Create(deployment("no-history", revisionHistoryLimit=-1)),
            Look("none"),
        ),
    ),
    Scenario(
        name="rs-counts",
        steps=(
            Create(replica_set("web", replicas=2)),
            Until(pending(), 2),
            Look("created"),
            becomes(running(), at_most=1),
            Until(Pick(kind="ReplicaSet", where={"status.readyReplicas": 1})),
            Look("one ready"),
        ),
    ),
    Scenario(
        name="rs-adopts-and-releases",
        steps=(
            Create(pod("stray", labels={"app": "web"})),
            Create(pod("elsewhere", labels={"app": "other"})),
            Create(replica_set("web", replicas=2)),
            Until(Pick(labels={"app": "web"}), 2),
            Look("adopted"),
            Change(Pick(name="stray"), {"metadata": {"labels": {"app": "debug"}}}),
            Until(Pick(), 4),
            Look("released"),
        ),
    ),
    Scenario(
        name="rs-too-many-strays",
        steps=(
            Create(pod("ready", labels={"app": "web"}, status=running())),
            Create(pod("waiting", labels={"app": "web"})),
            Create(
                pod(
                    "cheap",
                    labels={"app": "web"},
                    status=running(),
                    metadata={"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}},
                )
            ),
            Create(replica_set("web", replicas=2)),
            Until(Pick(), 2),
            Look("two"),
            Change(SET, {"spec": {"replicas": 1}}),
            Until(Pick(), 1),
            Look("one"),
        ),
    ),
    Scenario(
        name="rs-quota-refuses",
        steps=(
            Create(quota("few", pods="1")),
            Look("quota"),
            Create(replica_set("web", replicas=3)),
            Until(pending()),
            Look("end"),
            Change(SET, {"spec": {"replicas": 1}}),
            Look("content"),
        ),
    ),
    Scenario(
        name="rs-owned-by-another",
        steps=(
            Create(replica_set("web", replicas=1)),
            Until(pending()),
            Create(replica_set("other", replicas=1, labels={"app": "web"})),
            Until(Pick(), 2),
            Look("both"),
        ),
    ),
)
