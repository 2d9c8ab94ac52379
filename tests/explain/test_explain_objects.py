"""The sentences that people get about Pods, Jobs and everything else that is no RayCluster."""

from typing import Any

import pytest

from heliostat.explain.explanation import Sentence
from heliostat.explain.objects import explain_object

Tree = dict[str, Any]


def tree(kind: str, name: str = "x", *, owner: str = "", **parts: Any) -> Tree:
    owners = [{"kind": "Any", "name": owner, "uid": f"uid-{owner}", "controller": True}] if owner else []
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "ownerReferences": owners}
    metadata |= parts.pop("metadata", {})
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **parts}


def condition(type_: str, status: str, reason: str = "", message: str = "") -> Tree:
    return {"conditions": [{"type": type_, "status": status, "reason": reason, "message": message}]}


def waiting_pod(name: str, owner: str = "") -> Tree:
    scheduled = condition("PodScheduled", "False", "Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.")
    return tree("Pod", name, owner=owner, status={"phase": "Pending", **scheduled}, spec={"containers": []})


READY = {"phase": "Running", **condition("Ready", "True")}
VERDICTS = [
    (tree("Pod", status=READY), "is ready", True),
    (tree("Pod", status={"phase": "Succeeded"}), "has succeeded", True),
    (tree("Pod", status={"phase": "Pending"}), "is not ready", False),
    (tree("Job", status=condition("Complete", "True")), "is complete", True),
    (tree("Job", status={}), "is not complete", False),
    (tree("Job", status=condition("Failed", "True", "BackoffLimitExceeded", "enough")), "has failed", False),
    (tree("Deployment", status=condition("Available", "True")), "is available", True),
    (tree("PersistentVolumeClaim", status={"phase": "Bound"}), "is bound", True),
    (tree("PersistentVolumeClaim", status={"phase": "Pending"}), "is not bound", False),
    (tree("ReplicaSet", spec={"replicas": 2}, status={"readyReplicas": 2}), "is ready", True),
    (tree("ReplicaSet", spec={"replicas": 2}, status={"readyReplicas": 1}), "is not ready", False),
    (tree("Namespace", status={"phase": "Active"}), "is active", True),
    (tree("Namespace", status={"phase": "Terminating"}), "is not active", False),
    (tree("Node"), "is not ready", False),
    (tree("ConfigMap"), "is ready", True),
    (tree("Widget", status=condition("Ready", "False", "Broken", "no oil")), "is not ready", False),
    (tree("ConfigMap", metadata={"deletionTimestamp": "2027-01-15T08:00:00Z"}), "is being deleted", False),
]


@pytest.mark.parametrize(("given", "verdict", "is_ready"), VERDICTS)
def test_each_kind_has_its_own_word_for_good(given: Tree, verdict: str, *, is_ready: bool) -> None:
    told = explain_object(given, [], [])
    assert (told.verdict, told.is_ready) == (verdict, is_ready)
    assert bool(told.sentences) != is_ready


def test_a_pod_that_no_scheduler_has_seen() -> None:
    (sentence,) = explain_object(tree("Pod", "p", status={"phase": "Pending"}), [], []).sentences
    assert sentence.what == "Pod p is not ready: NotScheduled"
    assert "heliostat controllers" in sentence.fix


def test_an_object_without_a_status_has_nobody_who_works_on_it() -> None:
    (sentence,) = explain_object(tree("Job"), [], []).sentences
    assert sentence.what == "no controller has looked at the Job yet"
    assert "heliostat up" in sentence.fix


def test_the_words_of_a_status_are_told() -> None:
    status = {"phase": "Failed", "reason": "RecyclingFailed", "message": "no plugin"}
    (sentence,) = explain_object(tree("PersistentVolume", status=status), [], []).sentences
    assert sentence == Sentence("its phase is Failed", "RecyclingFailed: no plugin")


def test_a_job_is_explained_by_its_pods() -> None:
    told = explain_object(
        tree("Job", "j", status={"active": 1}), [waiting_pod("p", owner="j"), waiting_pod("other")], []
    )
    (sentence,) = told.sentences
    assert sentence.what == "Pod p is not ready: Unschedulable"
    assert sentence.fix.startswith("ask for less")


def test_owners_are_followed_over_several_steps() -> None:
    around = [tree("ReplicaSet", "rs", owner="d"), waiting_pod("p", owner="rs")]
    given = tree("Deployment", "d", spec={"replicas": 1}, status=condition("Available", "False", "Minimum", "too few"))
    told = explain_object(given, around, [])
    assert [sentence.what for sentence in told.sentences] == [
        "Pod p is not ready: Unschedulable",
        "Available is False: Minimum",
        "0 of 1 Pods are ready",
    ]


def test_objects_that_own_each_other_are_walked_once() -> None:
    around = [tree("A", "a", owner="b"), tree("B", "b", owner="a"), waiting_pod("p", owner="b")]
    assert "Pod p is not ready" in explain_object(tree("Job", "a", status={"active": 1}), around, []).sentences[0].what


def test_a_failed_pod_tells_how_it_ended_and_where_to_read_on() -> None:
    ended = {"terminated": {"exitCode": 3, "reason": "Error", "message": "boom"}}
    status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": ended}]}
    told = explain_object(tree("Pod", "p", spec={"containers": [{"name": "main"}]}, status=status), [], [])
    assert told.sentences == (
        Sentence(
            "Pod p has failed: Error",
            "container main exited with code 3: boom",
            "read why it ended: heliostat logs p",
        ),
    )


def test_a_container_that_is_not_the_first_is_named_in_the_command() -> None:
    ended = {"terminated": {"exitCode": 3, "reason": "Error"}}
    status = {"phase": "Failed", "containerStatuses": [{"name": "side", "state": ended}]}
    spec = {"containers": [{"name": "main"}, {"name": "side"}]}
    (sentence,) = explain_object(tree("Pod", "p", spec=spec, status=status), [], []).sentences
    assert sentence.fix == "read why it ended: heliostat logs p -c side"


@pytest.mark.parametrize("form", ["v1", "events.k8s.io/v1"])
def test_warnings_are_read_in_both_forms_of_events(form: str) -> None:
    about = {"kind": "Job", "name": "j", "uid": "uid-j"}
    core = {"message": "exceeded quota: q", "involvedObject": about}
    newer = {"note": "exceeded quota: q", "regarding": about}
    event = {"type": "Warning", "reason": "FailedCreate", **(core if form == "v1" else newer)}
    normal = {**event, "type": "Normal", "reason": "Made"}
    told = explain_object(tree("Job", "j", status={"active": 1}), [], [normal, event])
    fix = "raise the ResourceQuota of the namespace, or ask for less"
    assert told.sentences == (Sentence("warning: FailedCreate", "exceeded quota: q", fix),)


def test_the_newest_warnings_come_first_and_not_all_of_them() -> None:
    about = {"kind": "Job", "name": "j", "uid": "uid-j"}
    times = ["2027-01-01T00:00:00Z", "2027-01-03T00:00:00Z", "2027-01-02T00:00:00Z", "2027-01-04T00:00:00Z"]
    events = [{"type": "Warning", "reason": t[8:10], "lastTimestamp": t, "involvedObject": about} for t in times]
    told = explain_object(tree("Job", "j", status={"active": 1}), [], events)
    assert [sentence.what for sentence in told.sentences] == ["warning: 04", "warning: 03", "warning: 02"]


def test_a_deletion_that_waits_for_a_finalizer_says_so() -> None:
    leaving = {"deletionTimestamp": "2027-01-15T08:00:00Z", "finalizers": ["example.com/clean"]}
    told = explain_object(tree("ConfigMap", metadata=leaving), [], [])
    assert told.sentences[0].why == "finalizers are left: example.com/clean"


def test_a_pod_of_another_shape_is_no_reason_to_fail() -> None:
    broken = tree("Pod", "p", owner="j", status={"phase": 7})
    told = explain_object(tree("Job", "j", status={"active": 1}), [broken], [])
    assert told.sentences == (
        Sentence("the Job does not say why it is not complete", "", "wait a moment and ask again"),
    )


def test_what_a_condition_says_is_not_said_again_by_a_warning() -> None:
    event = {"type": "Warning", "reason": "Enough", "message": "enough", "involvedObject": {"uid": "uid-j"}}
    told = explain_object(tree("Job", "j", status=condition("Failed", "True", "Enough", "enough")), [], [event])
    assert [sentence.what for sentence in told.sentences] == ["Failed is True: Enough"]


def test_a_crowd_of_pods_shows_those_that_are_not_ready() -> None:
    ready = [tree("Pod", f"r{number:03}", owner="j", status=READY) for number in range(60)]
    told = explain_object(tree("Job", "j", status={"active": 1}), [*ready, waiting_pod("z", owner="j")], [])
    assert told.places[0] == ("POD", "STATE", "NODE", "ADDRESS")
    assert told.places[1][0] == "z"
    assert told.places[-1][0] == "and 21 more"
