"""What is remembered of a cluster: why its last plan failed, and which groups it had."""

from typing import Any

import msgspec
import pytest

from heliostat.api.settings import Settings
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.objects import Key, Metadata
from heliostat.kube.plan import Create, Delete, Patch, Plan, Ref, Stage, WriteStatus
from heliostat.operator.kinds import WholeObject
from heliostat.operator.raycluster.memory import Memory, failure_of
from heliostat.operator.understanding import Understanding
from heliostat.plan.raycluster.kind import RAY_CLUSTER
from heliostat.plan.raycluster.situation import LastFailure
from heliostat.plan.raycluster.status_pacing import PacedPlan
from heliostat.runtime.errors import (
    AmbiguousError,
    ConflictError,
    FencedError,
    ForbiddenError,
    InvalidError,
    ThrottledError,
)
from heliostat.runtime.outcome import FailedAction, Outcome
from plan.worlds import cluster_tree, group

KEY = Key("ns", "demo")
FORBIDDEN = ForbiddenError(403, "Forbidden", "exceeded quota")
POD = Create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, "Missing")


def failed(*errors: tuple[Exception, str]) -> Outcome:
    return Outcome(failures=tuple(FailedAction(POD, error, tag) for error, tag in errors))


def desired(*groups: str) -> DesiredCluster:
    spec: dict[str, Any] = cluster_tree(*(group(name) for name in groups))["spec"]
    item = WholeObject(metadata=Metadata(name="demo", namespace="ns"), spec=msgspec.Raw(msgspec.json.encode(spec)))
    meaning = Understanding(RAY_CLUSTER, Settings()).understand(item)
    assert meaning.desired is not None
    return meaning.desired


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(), None),
        (failed((FORBIDDEN, "FailedCreateHeadPod")), LastFailure("FailedCreateHeadPod", "exceeded quota")),
        (failed((ValueError("odd"), ""), (FORBIDDEN, "FailedCreateHeadPod")),
         LastFailure("FailedCreateHeadPod", "exceeded quota")),
        (failed((FORBIDDEN, "")), LastFailure("", "exceeded quota")),
        (failed((ConflictError(409, "Conflict", "old view"), "FailedCreateHeadPod")), None),
        (failed((ThrottledError("busy", 1.0), "FailedCreateHeadPod")), None),
        (failed((FencedError("not the leader"), "FailedCreateHeadPod")), None),
    ],
)  # fmt: skip
def test_which_failure_is_told(outcome: Outcome, told: LastFailure | None) -> None:
    assert failure_of(outcome) == told


@pytest.mark.parametrize(
    "action",
    [
        Create({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "n"}}, "Missing"),
        Create({"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "i"}}, "Missing"),
        Patch(Ref("cert-manager.io/v1", "Certificate", "ns", "c"), "u", "1", {}, "Drifted"),
        Patch(Ref("v1", "Secret", "ns", "s"), "u", "1", {}, "OwnerChanged"),
    ],
)
def test_what_fails_beside_the_cluster_hinders_and_makes_it_no_less_ready(action: Create | Patch) -> None:
    memory = Memory()
    memory.recall(KEY, "u", "1", None)
    assert memory.ended(KEY, Outcome(failures=(FailedAction(action, FORBIDDEN),)))
    remembered = memory.recall(KEY, "u", "1", None)
    assert remembered.failure is None
    assert [hindrance.reason for hindrance in remembered.hindrances] == ["QuotaExceeded"]


def test_a_secret_that_cannot_be_made_is_a_failure_of_the_cluster() -> None:
    secret = Create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, "Missing")
    assert failure_of(Outcome(failures=(FailedAction(secret, FORBIDDEN),))) == LastFailure("", "exceeded quota")


def test_a_failure_stays_until_a_plan_succeeds_and_each_change_is_news() -> None:
    memory = Memory()
    assert memory.recall(KEY, "u", "1", None).failure is None
    assert memory.ended(KEY, failed((FORBIDDEN, "FailedCreateHeadPod")))
    assert not memory.ended(KEY, failed((FORBIDDEN, "FailedCreateHeadPod")))
    assert memory.recall(KEY, "u", "1", None).failure == LastFailure("FailedCreateHeadPod", "exceeded quota")
    assert memory.ended(KEY, Outcome())
    assert memory.recall(KEY, "u", "1", None).failure is None


def test_a_status_that_cannot_be_written_is_nothing_that_the_status_could_tell() -> None:
    memory = Memory()
    memory.recall(KEY, "u", "1", None)
    status = FailedAction(WriteStatus(Ref("ray.io/v1", "RayCluster", "ns", "demo"), "u", "1", {}, "Changed"), FORBIDDEN)
    assert not memory.ended(KEY, Outcome(failures=(status,)))
    assert not memory.ended(KEY, Outcome())
    pod = FailedAction(POD, FORBIDDEN, "FailedCreateHeadPod")
    assert memory.ended(KEY, Outcome(failures=(pod, status)))
    assert not memory.ended(KEY, Outcome(failures=(pod,)))


def test_a_group_counts_as_seen_from_the_look_after_the_one_that_saw_it() -> None:
    memory = Memory()
    assert memory.recall(KEY, "u", "1", desired("a", "b")).groups_seen == frozenset()
    assert memory.recall(KEY, "u", "1", desired("b")).groups_seen == {"a", "b"}


def test_a_new_cluster_under_the_name_of_an_old_one_inherits_nothing() -> None:
    memory = Memory()
    memory.recall(KEY, "old", "1", desired("a"))
    memory.ended(KEY, failed((FORBIDDEN, "")))
    remembered = memory.recall(KEY, "new", "1", desired("b"))
    assert remembered.groups_seen == frozenset()
    assert remembered.failure is None


def test_what_is_forgotten_tells_nothing() -> None:
    memory = Memory()
    memory.recall(KEY, "u", "1", desired("a"))
    memory.forget(KEY)
    assert not memory.ended(KEY, failed((FORBIDDEN, "")))
    assert memory.recall(KEY, "u", "1", None).groups_seen == frozenset()


def quota_error(pod: str) -> ForbiddenError:
    return ForbiddenError(403, "Forbidden", f'pods "{pod}" is forbidden: exceeded quota')


def test_one_kind_of_failure_keeps_the_words_of_the_first() -> None:
    memory = Memory()
    memory.recall(KEY, "u", "1", None)
    assert memory.ended(KEY, failed((quota_error("a"), "FailedCreateWorkerPod")))
    told = memory.recall(KEY, "u", "1", None).failure
    assert not memory.ended(KEY, failed((quota_error("b"), "FailedCreateWorkerPod"))), "another name is no news"
    assert memory.recall(KEY, "u", "1", None).failure == told
    assert memory.ended(KEY, failed((quota_error("b"), "FailedCreateHeadPod"))), "another tag is"
    assert memory.ended(KEY, failed((InvalidError(422, "Invalid", "no"), "FailedCreateHeadPod"))), "so is another error"


def test_a_refusal_without_a_tag_is_a_hindrance_until_it_is_over() -> None:
    memory = Memory()
    memory.recall(KEY, "u", "1", None)
    memory.ended(KEY, failed((FORBIDDEN, ""), (quota_error("a"), "FailedCreateWorkerPod")))
    remembered = memory.recall(KEY, "u", "1", None)
    assert [hindrance.reason for hindrance in remembered.hindrances] == ["QuotaExceeded"]
    assert remembered.failure is not None
    assert remembered.failure.tag == "FailedCreateWorkerPod"
    assert memory.ended(KEY, Outcome())
    assert memory.recall(KEY, "u", "1", None).hindrances == ()


def test_until_when_a_status_is_held_back_is_remembered_and_forgotten_with_the_cluster() -> None:
    memory = Memory()
    memory.recall(KEY, "uid", "1", None)
    memory.decided(KEY, PacedPlan(Plan(), held_until=7.0))
    assert memory.recall(KEY, "uid", "1", None).held_until == 7.0
    memory.decided(KEY, PacedPlan(Plan()))
    assert memory.recall(KEY, "uid", "1", None).held_until is None, "it was written"
    memory.decided(KEY, PacedPlan(Plan(), held_until=7.0))
    assert memory.recall(KEY, "another", "1", None).held_until is None


def planned(*names: str) -> Plan:
    pods = tuple(Create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}, "ScaleUp") for name in names)
    return Plan(stages=(Stage("workers/g", pods),))


def unheard(*names: str, blocked: tuple[str, ...] = ()) -> Outcome:
    error = AmbiguousError("no answer in time")
    failures = [FailedAction(action, error) for action in planned(*names).actions()]
    return Outcome(failures=tuple(failures), blocked=blocked)


def test_the_name_of_a_pod_whose_create_was_not_answered_is_kept_until_it_is() -> None:
    memory = Memory()
    memory.recall(KEY, "u", "1", None)
    memory.decided(KEY, PacedPlan(planned("a", "b")))
    memory.ended(KEY, unheard("a"))
    assert memory.recall(KEY, "u", "1", None).unanswered == {"a"}
    memory.decided(KEY, PacedPlan(planned("c")))
    memory.ended(KEY, unheard("c"))
    assert memory.recall(KEY, "u", "1", None).unanswered == {"a", "c"}
    memory.decided(KEY, PacedPlan(planned("a")))
    memory.ended(KEY, Outcome(blocked=("workers/g",)))
    assert memory.recall(KEY, "u", "1", None).unanswered == {"a", "c"}
    memory.decided(KEY, PacedPlan(planned("a")))
    memory.ended(KEY, Outcome(written=1))
    assert memory.recall(KEY, "u", "1", None).unanswered == {"c"}


def test_another_life_met_the_cluster_at_another_moment_and_that_moment_stays() -> None:
    """Names come from it: what a former life has made and deleted left no trace that could tell."""
    lives = [Memory(), Memory()]
    met = [memory.recall(KEY, "u", "1", None, seen).since for memory, seen in zip(lives, (5, 9), strict=True)]
    assert met == [5, 9]
    assert lives[0].recall(KEY, "u", "2", None, 12).since == 5
    assert lives[0].recall(KEY, "another", "2", None, 12).since == 12


def test_names_are_used_up_when_pods_came_or_went_and_free_again_with_another_version() -> None:
    memory = Memory()
    assert memory.recall(KEY, "u", "1", None).moves == 0
    memory.decided(KEY, PacedPlan(planned("p")))
    memory.ended(KEY, failed((FORBIDDEN, "FailedCreateHeadPod")))
    assert memory.recall(KEY, "u", "1", None).moves == 0, "it was refused"
    memory.decided(KEY, PacedPlan(planned("p")))
    memory.ended(KEY, Outcome(written=1))
    assert memory.recall(KEY, "u", "1", None).moves == 1
    memory.decided(KEY, PacedPlan(Plan()))
    memory.ended(KEY, Outcome())
    assert memory.recall(KEY, "u", "1", None).moves == 1
    gone = Delete(Ref("v1", "Pod", "ns", "half"), "uid-of-half", "ReplicaIncomplete")
    memory.decided(KEY, PacedPlan(Plan(stages=(Stage("workers/g", (gone,)),))))
    memory.ended(KEY, Outcome(written=1))
    assert memory.recall(KEY, "u", "1", None).moves == 2, "another life may have made it from this very view"
    assert memory.recall(KEY, "u", "2", None).moves == 0
