"""Deployments, step by step: creation, rolling update, Recreate, pausing, rolling back, the conditions on the way."""

from typing import Any

import pytest

from embedded.controllers.plan_world import START, World
from embedded.controllers.workloads import (
    DEPLOYMENT_REF,
    LABELS,
    Workloads,
    controlled_by,
    deployment,
    failed,
    key_of,
    replica_set,
    template,
)
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Create, Delete, Plan, ref_of
from heliostat.kube.timestamps import format_timestamp

REVISION = "deployment.kubernetes.io/revision"


def step(world: Workloads) -> Plan:
    return world.reconcile(world.deployments, key_of(world.one("Deployment")))


def started(tree: JsonObject | None = None) -> Workloads:
    world = Workloads()
    world.add(tree or deployment())
    world.live()
    return world


def conditions_of(world: World) -> dict[str, tuple[str, str, str]]:
    found = world.one("Deployment")["status"].get("conditions", [])
    return {item["type"]: (item["status"], item["reason"], item["message"]) for item in found}


def sizes(world: Workloads) -> dict[str, int]:
    """By image, which tells the templates apart."""
    return {
        tree["spec"]["template"]["spec"]["containers"][0]["image"]: tree["spec"]["replicas"]
        for tree in world.of("ReplicaSet")
    }


def of_image(world: Workloads, image: str) -> JsonObject:
    (found,) = (
        tree for tree in world.of("ReplicaSet") if tree["spec"]["template"]["spec"]["containers"][0]["image"] == image
    )
    return found


def roll_out(world: Workloads, image: str) -> None:
    world.change(DEPLOYMENT_REF, spec={"template": template(image)})


class TestCreation:
    def test_the_replica_set_of_a_new_deployment(self) -> None:
        world = Workloads()
        tree = deployment(minReadySeconds=5)
        tree["metadata"]["annotations"] = {"team": "a"}
        owner = world.add(tree)
        step(world)
        created = world.one("ReplicaSet")
        hash_ = created["metadata"]["labels"]["pod-template-hash"]
        assert created["metadata"]["name"] == f"web-{hash_}"
        assert created["metadata"]["labels"] == {**LABELS, "pod-template-hash": hash_}
        assert created["metadata"]["ownerReferences"] == controlled_by(owner)
        assert created["metadata"]["annotations"] == {
            "team": "a",
            "deployment.kubernetes.io/desired-replicas": "3",
            "deployment.kubernetes.io/max-replicas": "4",
            REVISION: "1",
        }
        assert created["spec"] == {
            "replicas": 3,
            "minReadySeconds": 5,
            "selector": {"matchLabels": {**LABELS, "pod-template-hash": hash_}},
            "template": template(**{"pod-template-hash": hash_}),
        }
        assert world.notes() == [f"Scaled up replica set web-{hash_} from 0 to 3"]
        assert world.events[0].reason == "ScalingReplicaSet"
        assert world.one("Deployment")["metadata"]["annotations"][REVISION] == "1"
        assert conditions_of(world) == {
            "Progressing": ("True", "NewReplicaSetCreated", f'Created new replica set "web-{hash_}"')
        }

    def test_the_revision_does_not_count_as_a_change_of_the_spec(self) -> None:
        world = started()
        assert world.one("Deployment")["metadata"]["generation"] == 1

    def test_a_finished_rollout(self) -> None:
        world = started()
        name = world.one("ReplicaSet")["metadata"]["name"]
        status = world.one("Deployment")["status"]
        assert {key: value for key, value in status.items() if key != "conditions"} == {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
        }
        assert [(item["type"], item["reason"]) for item in status["conditions"]] == [
            ("Available", "MinimumReplicasAvailable"),
            ("Progressing", "NewReplicaSetAvailable"),
        ]
        assert conditions_of(world)["Progressing"][2] == f'ReplicaSet "{name}" has successfully progressed.'
        assert conditions_of(world)["Available"][2] == "Deployment has minimum availability."

    def test_before_the_pods_are_there_it_is_not_available(self) -> None:
        world = Workloads()
        world.add(deployment())
        for _ in range(3):
            step(world)
        assert conditions_of(world)["Available"] == (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
        assert world.one("Deployment")["status"]["unavailableReplicas"] == 3

    def test_a_size_of_zero_is_complete_at_once(self) -> None:
        world = started(deployment(replicas=0))
        assert conditions_of(world)["Progressing"][1] == "NewReplicaSetAvailable"
        assert world.events == []

    def test_a_name_that_is_taken_is_counted_and_avoided(self) -> None:
        world = Workloads()
        world.add(deployment())
        (planned,) = [
            action.object
            for action in world.deployments.plan(key_of(world.one("Deployment")), world.now).actions()
            if isinstance(action, Create)
        ]
        other = replica_set(planned["metadata"]["name"], replicas=0, selector={"matchLabels": {"app": "other"}})
        world.add(other)
        step(world)
        assert world.one("Deployment")["status"]["collisionCount"] == 1
        world.live()
        names = {tree["metadata"]["name"] for tree in world.of("ReplicaSet")}
        assert len(names) == 2
        assert world.one("Deployment")["status"]["availableReplicas"] == 3

    def test_a_creation_that_failed_is_shown_and_tried_again(self) -> None:
        world = Workloads()
        key = key_of(world.add(deployment()))
        world.deployments.after(key, failed("ReplicaSetCreateError", "quota"))
        assert not step(world).stages
        status, reason, message = conditions_of(world)["Progressing"]
        assert (status, reason) == ("False", "ReplicaSetCreateError")
        assert message.startswith('Failed to create new replica set "web-')
        assert message.endswith('": quota')
        step(world)
        assert len(world.of("ReplicaSet")) == 1
        assert conditions_of(world)["Progressing"][1] == "NewReplicaSetCreated"


class TestRollingUpdate:
    def test_up_within_the_surge_then_down_within_what_may_be_missing(self) -> None:
        """3 replicas, 25% and 25%: one more at most, none fewer."""
        world = started()
        roll_out(world, "b")
        step(world)
        assert sizes(world) == {"a": 3, "b": 1}
        step(world)
        step(world)
        assert sizes(world) == {"a": 3, "b": 1}
        for _ in range(2):
            list(world.passes())
        world.run_all()
        for tree in world.of("ReplicaSet"):
            world.reconcile(world.replica_sets, key_of(tree))
        step(world)
        assert sizes(world) == {"a": 2, "b": 1}
        world.live()
        assert sizes(world) == {"a": 0, "b": 3}

    def test_the_events_of_a_rollout(self) -> None:
        world = started(deployment(replicas=2))
        world.events.clear()
        roll_out(world, "b")
        world.live()
        a, b = (of_image(world, image)["metadata"]["name"] for image in "ab")
        assert [note for note in world.notes() if note.startswith("Scaled")] == [
            f"Scaled up replica set {b} from 0 to 1",
            f"Scaled down replica set {a} from 2 to 1",
            f"Scaled up replica set {b} from 1 to 2",
            f"Scaled down replica set {a} from 1 to 0",
        ]

    def test_without_surge_the_old_ones_go_first(self) -> None:
        world = started(deployment(strategy=_rolling(0, 1)))
        roll_out(world, "b")
        step(world)
        assert sizes(world) == {"a": 3, "b": 0}
        step(world)
        assert sizes(world) == {"a": 2, "b": 0}

    def test_replicas_that_are_not_available_go_first(self) -> None:
        """The two that are broken are taken away without waiting for new ones."""
        world = started(deployment(replicas=4, strategy=_rolling(1, 2)))
        for tree in world.of("Pod")[:2]:
            world.break_down(tree)
        list(world.passes())
        roll_out(world, "b")
        step(world)
        assert sizes(world) == {"a": 4, "b": 1}
        step(world)
        assert sizes(world) == {"a": 2, "b": 1}

    def test_a_rollout_over_a_rollout(self) -> None:
        world = started(deployment(replicas=4))
        roll_out(world, "b")
        for _ in range(3):
            list(world.passes())
        roll_out(world, "c")
        world.live()
        assert sizes(world) == {"a": 0, "b": 0, "c": 4}
        assert of_image(world, "c")["metadata"]["annotations"][REVISION] == "3"

    def test_a_change_of_size_amid_a_rollout_is_shared_out(self) -> None:
        world = started(deployment(replicas=10, strategy=_rolling(0, 5)))
        roll_out(world, "b")
        for _ in range(2):
            step(world)
        list(world.passes())
        list(world.passes())
        assert sizes(world) == {"a": 5, "b": 5}
        world.change(DEPLOYMENT_REF, spec={"replicas": 20})
        step(world)
        assert sizes(world) == {"a": 10, "b": 10}
        told = [tree["metadata"]["annotations"] for tree in world.of("ReplicaSet")]
        assert [found["deployment.kubernetes.io/desired-replicas"] for found in told] == ["20", "20"]

    def test_min_ready_seconds_follow_without_a_rollout(self) -> None:
        world = started()
        world.change(DEPLOYMENT_REF, spec={"minReadySeconds": 7})
        world.live()
        assert world.one("ReplicaSet")["spec"]["minReadySeconds"] == 7

    def test_annotations_follow_without_a_rollout(self) -> None:
        world = started()
        world.change(DEPLOYMENT_REF, metadata={"annotations": {"kubernetes.io/change-cause": "why"}})
        world.live()
        assert world.one("ReplicaSet")["metadata"]["annotations"]["kubernetes.io/change-cause"] == "why"


def _rolling(surge: int, unavailable: int) -> JsonObject:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


class TestRollingBack:
    def test_an_old_template_comes_back_with_a_new_revision(self) -> None:
        world = started()
        first = world.one("ReplicaSet")["metadata"]["name"]
        roll_out(world, "b")
        world.live()
        roll_out(world, "a")
        world.live()
        assert sizes(world) == {"a": 3, "b": 0}
        annotations = of_image(world, "a")["metadata"]["annotations"]
        assert of_image(world, "a")["metadata"]["name"] == first
        assert annotations[REVISION] == "3"
        assert annotations["deployment.kubernetes.io/revision-history"] == "1"
        assert world.one("Deployment")["metadata"]["annotations"][REVISION] == "3"

    def test_only_so_many_old_revisions_are_kept(self) -> None:
        world = started(deployment(revisionHistoryLimit=2))
        for image in "bcde":
            roll_out(world, image)
            world.live()
        assert sizes(world) == {"c": 0, "d": 0, "e": 3}

    def test_old_revisions_stay_until_the_rollout_is_over(self) -> None:
        world = started(deployment(revisionHistoryLimit=0))
        roll_out(world, "b")
        step(world)
        plans = [step(world) for _ in range(5)]
        assert not any(isinstance(action, Delete) for plan in plans for action in plan.actions())
        world.live()
        assert sizes(world) == {"b": 3}


class TestRecreate:
    def test_the_last_old_pod_is_gone_before_the_first_new_one_comes(self) -> None:
        world = started(deployment(replicas=2, strategy={"type": "Recreate"}))
        roll_out(world, "b")
        for _ in range(6):
            list(world.passes())
        assert sizes(world) == {"a": 0}
        assert all(tree["metadata"].get("deletionTimestamp") for tree in world.of("Pod"))
        world.bury()
        list(world.passes())
        assert sizes(world) == {"a": 0, "b": 2}
        world.live()
        assert conditions_of(world)["Progressing"][1] == "NewReplicaSetAvailable"

    def test_an_old_pod_that_is_over_does_not_hold_it_up(self) -> None:
        world = started(deployment(replicas=1, strategy={"type": "Recreate"}))
        world.change(ref_of(world.one("Pod")), status={"phase": "Failed"})
        world.change(DEPLOYMENT_REF, spec={"replicas": 0})
        world.live()
        world.change(DEPLOYMENT_REF, spec={"replicas": 1, "template": template("b")})
        world.live()
        assert sizes(world) == {"a": 0, "b": 1}

    def test_who_waits_is_woken_when_a_pod_is_gone(self) -> None:
        world = started(deployment(replicas=1, strategy={"type": "Recreate"}))
        _deployments, _sets, pods = world.deployments.sources()
        woken: list[Any] = []
        pods.changes.subscribe(lambda before, after: woken.extend(pods.keys_of(before, after)))
        world.change(ref_of(world.one("Pod")), metadata={"annotations": {"a": "b"}})
        assert woken == []
        world.remove(ref_of(world.one("Pod")))
        assert [key.name for key in woken] == ["web"]

    def test_scaling_does_not_recreate(self) -> None:
        world = started(deployment(replicas=1, strategy={"type": "Recreate"}))
        world.change(DEPLOYMENT_REF, spec={"replicas": 3})
        world.live()
        assert sizes(world) == {"a": 3}


class TestPausing:
    def test_a_paused_deployment_rolls_nothing_out_but_scales(self) -> None:
        world = started()
        world.change(DEPLOYMENT_REF, spec={"paused": True, "template": template("b")})
        world.live()
        assert sizes(world) == {"a": 3}
        assert conditions_of(world)["Progressing"] == ("Unknown", "DeploymentPaused", "Deployment is paused")
        world.change(DEPLOYMENT_REF, spec={"replicas": 5})
        world.live()
        assert sizes(world) == {"a": 5}

    def test_resuming_is_noted_and_the_rollout_goes_on(self) -> None:
        world = started()
        world.change(DEPLOYMENT_REF, spec={"paused": True})
        step(world)
        world.change(DEPLOYMENT_REF, spec={"paused": False})
        world.now += 5000
        plan = step(world)
        assert conditions_of(world)["Progressing"][1] in ("DeploymentResumed", "NewReplicaSetAvailable")
        assert plan.status is not None
        roll_out(world, "b")
        world.live()
        assert sizes(world) == {"a": 0, "b": 3}

    def test_a_missed_deadline_is_not_hidden_by_a_pause(self) -> None:
        world = _timed_out()
        world.change(DEPLOYMENT_REF, spec={"paused": True})
        step(world)
        assert conditions_of(world)["Progressing"][1] == "ProgressDeadlineExceeded"

    def test_a_new_deployment_that_is_paused_has_no_replica_set(self) -> None:
        world = started(deployment(paused=True))
        assert world.of("ReplicaSet") == []
        assert conditions_of(world)["Progressing"][1] == "DeploymentPaused"


def _timed_out() -> Workloads:
    world = Workloads()
    world.add(deployment(progressDeadlineSeconds=60))
    for _ in range(5):
        list(world.passes())
    world.now += 61
    step(world)
    return world


class TestProgress:
    def test_the_deadline_is_looked_after(self) -> None:
        world = Workloads()
        world.add(deployment(progressDeadlineSeconds=60))
        for _ in range(5):
            list(world.passes())
        world.now += 10
        assert step(world).wake_after == 51

    def test_without_progress_until_the_deadline(self) -> None:
        world = _timed_out()
        name = world.one("ReplicaSet")["metadata"]["name"]
        assert conditions_of(world)["Progressing"] == (
            "False",
            "ProgressDeadlineExceeded",
            f'ReplicaSet "{name}" has timed out progressing.',
        )
        assert step(world).wake_after is None
        assert step(world).is_empty

    def test_a_late_rollout_recovers(self) -> None:
        world = _timed_out()
        world.live()
        assert conditions_of(world)["Progressing"][:2] == ("True", "NewReplicaSetAvailable")

    def test_every_progress_starts_the_deadline_anew(self) -> None:
        world = Workloads()
        world.add(deployment(progressDeadlineSeconds=60))
        for _ in range(5):
            list(world.passes())
        for tree in world.of("Pod")[:2]:
            world.now += 50
            world.run(tree)
            list(world.passes())
            list(world.passes())
            found = next(c for c in world.one("Deployment")["status"]["conditions"] if c["type"] == "Progressing")
            assert found["reason"] == "ReplicaSetUpdated"
            assert found["lastUpdateTime"] == format_timestamp(world.now)
            assert found["lastTransitionTime"] == format_timestamp(START)

    @pytest.mark.parametrize("deadline", [None, 2**31 - 1])
    def test_no_deadline_no_condition(self, deadline: int | None) -> None:
        world = started(deployment(progressDeadlineSeconds=deadline))
        assert list(conditions_of(world)) == ["Available"]

    def test_a_pod_that_breaks_later_is_not_a_rollout(self) -> None:
        world = started()
        world.break_down(world.of("Pod")[0])
        world.now += 5000
        for _ in range(3):
            list(world.passes())
        assert conditions_of(world)["Progressing"][1] == "NewReplicaSetAvailable"
        assert conditions_of(world)["Available"][0] == "False"

    def test_the_failure_of_a_replica_set_is_shown(self) -> None:
        world = started()
        failure = {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": "FailedCreate",
            "message": "quota",
            "lastTransitionTime": format_timestamp(START),
        }
        world.change(ref_of(world.one("ReplicaSet")), status={"conditions": [failure]})
        step(world)
        assert conditions_of(world)["ReplicaFailure"] == ("True", "FailedCreate", "quota")
        world.change(ref_of(world.one("ReplicaSet")), status={"conditions": None})
        step(world)
        assert "ReplicaFailure" not in conditions_of(world)


class TestClaiming:
    def test_a_replica_set_with_the_template_is_adopted(self) -> None:
        world = Workloads()
        tree = replica_set("by-hand", replicas=3)
        tree["metadata"]["labels"] = LABELS
        world.add(tree)
        owner = world.add(deployment())
        world.live()
        adopted = world.one("ReplicaSet")
        assert adopted["metadata"]["ownerReferences"] == controlled_by(owner)
        assert adopted["metadata"]["annotations"][REVISION] == "1"
        assert world.one("Deployment")["status"]["updatedReplicas"] == 3

    def test_one_that_no_longer_matches_is_let_go(self) -> None:
        world = started()
        world.change(ref_of(world.one("ReplicaSet")), metadata={"labels": {"app": "other"}})
        step(world)
        assert "ownerReferences" not in world.one("ReplicaSet")["metadata"]

    def test_a_deployment_that_is_being_deleted_only_counts(self) -> None:
        tree = deployment()
        tree["metadata"]["finalizers"] = ["foregroundDeletion"]
        world = started(tree)
        roll_out(world, "b")
        world.delete(DEPLOYMENT_REF)
        world.live()
        assert sizes(world) == {"a": 3}
        assert world.one("Deployment")["status"]["replicas"] == 3

    @pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {"": "x"}}])
    def test_a_selector_of_everything_or_nothing_does_nothing(self, selector: JsonObject | None) -> None:
        world = Workloads()
        world.add(deployment(selector=selector))
        assert step(world) == Plan()
