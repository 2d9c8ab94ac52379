"""``explain`` of a RayJob: its phase in words, and the first thing that stands in its way."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation, format_explanation
from heliostat.explain.rayjob.job import explain_job
from heliostat.explain.scene import Scene
from plan.rayjob.job_worlds import JobWorld, act, begin, job_tree, run
from plan.worlds import NOW


def explain(world: JobWorld) -> Explanation:
    assert world.job is not None
    clusters = world.of_kind("RayCluster")
    cluster = clusters[0] if clusters else {}
    return explain_job(Scene(tree=world.job, cluster=cluster, objects=world.objects, now=world.now), Settings())


def with_status(**status: Any) -> Explanation:
    return explain_job(Scene(tree=job_tree(status=status), now=NOW), Settings())


def test_a_new_job_has_not_been_looked_at() -> None:
    assert explain(begin()).verdict == "has not been looked at by an operator yet"


def test_while_its_cluster_is_held_up_the_clusters_trouble_comes_first() -> None:
    world = act(act(act(begin())))
    assert explain(world).verdict == "is Initializing"
    assert not explain(world).is_ready
    assert explain(world).sentences


def test_a_cluster_that_was_chosen_and_is_not_there_is_named() -> None:
    world = act(act(begin(rayClusterSpec=None, clusterSelector={"ray.io/cluster": "theirs"})))
    first = explain(world).sentences[0]
    assert "does not exist" in first.what
    assert "ns/theirs" in first.why
    assert "create it" in first.fix


def test_a_running_job_is_well() -> None:
    world = run(begin(submissionMode="HTTPMode"))
    explained = explain(act(world.with_ray(world.ray.tell("RUNNING"))))
    assert (explained.verdict, explained.is_ready) == ("is Running: Ray says RUNNING", True)


def test_a_refused_job_says_what_to_mend() -> None:
    explained = explain(run(begin(submissionMode="HTTPMode", ttlSecondsAfterFinished=5)))
    assert explained.verdict.startswith("is ValidationFailed")
    assert "shutdownAfterJobFinishes" in explained.sentences[0].why


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("AppFailed", "heliostat logs rayjob/job"),
        ("SubmissionFailed", "kubectl logs job/job"),
        ("DeadlineExceeded", "spec.activeDeadlineSeconds"),
        ("JobStatusCheckTimeoutExceeded", "head Pod"),
    ],
)
def test_a_failure_comes_with_its_last_words_and_a_way_on(reason: str, words: str) -> None:
    explained = with_status(jobDeploymentStatus="Failed", jobStatus="FAILED", reason=reason, message="exit code 3")
    (sentence,) = explained.sentences
    assert (sentence.why, explained.is_ready) == ("exit code 3", False)
    assert words in sentence.fix


def test_the_clean_up_is_told() -> None:
    text = format_explanation(with_status(jobDeploymentStatus="Complete", jobStatus="SUCCEEDED"))
    assert "clean-up after the end: nothing goes" in text
