"""``explain`` of a RayJob: its phase in words, and the first thing that stands in its way."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation, format_explanation
from heliostat.explain.rayjob.job import explain_job
from heliostat.explain.scene import Scene
from heliostat.kube.timestamps import format_timestamp
from plan.rayjob.job_worlds import JobWorld, Ray, act, begin, job_tree, run
from plan.worlds import NOW, Tree


def explain(world: JobWorld) -> Explanation:
    assert world.job is not None
    clusters = world.of_kind("RayCluster")
    cluster = clusters[0] if clusters else {}
    return explain_job(Scene(tree=world.job, cluster=cluster, objects=world.objects, now=world.now), Settings())


def with_status(**status: Any) -> Explanation:
    return explain_job(Scene(tree=job_tree(status=status), now=NOW), Settings())


def test_a_new_job_has_not_been_looked_at() -> None:
    assert explain(begin()).verdict == "has not been reconciled by an operator yet"


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


def test_an_edit_that_the_running_job_does_not_follow_is_said_for_as_long_as_it_is_so() -> None:
    world = run(begin(submissionMode="HTTPMode"))
    world = act(world.with_ray(world.ray.tell("RUNNING")))
    assert "is not followed" not in format_explanation(explain(world))
    edited = world.edit(rayClusterSpec={"rayVersion": "2.99.0"})
    note = explain(edited).notes[0]
    assert "spec.rayClusterSpec changed" in note.why
    assert "suspend and resume" in note.fix
    assert explain(edited).is_ready, "the job runs"


def test_an_edit_of_the_program_is_known_from_what_the_operator_told() -> None:
    world = run(begin(submissionMode="HTTPMode"))
    world = act(world.with_ray(world.ray.tell("RUNNING")))
    assert world.job is not None
    regarding = {"kind": "RayJob", "name": "job", "uid": world.job["metadata"]["uid"]}
    told = {"type": "Warning", "reason": "SpecNotApplied", "note": "spec.entrypoint changed", "regarding": regarding}
    for moment, is_told in ((format_timestamp(NOW + 60), True), (format_timestamp(NOW - 60), False)):
        events = ({**told, "eventTime": moment},)
        scene = Scene(tree=world.job, objects=world.objects, events=events, now=world.now)
        notes = explain_job(scene, Settings()).notes
        assert (notes[0].why == "spec.entrypoint changed") == is_told, "another attempt follows it"


def explain_with_submitter(image: str, phase: str, state: Tree) -> Explanation:
    """Of a job that Ray does not know yet."""
    world = run(begin(submissionMode="K8sJobMode").with_ray(Ray(is_silent=True)))
    assert world.job is not None
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "job-x", "uid": "u", "ownerReferences": [{"kind": "Job", "name": "job", "uid": "j"}]},
        "spec": {"nodeName": "n", "containers": [{"name": "ray-job-submitter", "image": image}]},
        "status": {
            "phase": phase,
            "containerStatuses": [{"name": "ray-job-submitter", "ready": phase == "Running", "state": state}],
        },
    }
    return explain_job(Scene(tree=world.job, objects=(*world.objects, pod), now=world.now), Settings())


def test_a_submitter_image_that_nobody_provides_is_named_with_a_fix() -> None:
    waiting = {"reason": "ErrImagePull", "message": 'no entry of images.toml stands for the image "nobody/has-this:1"'}
    first = explain_with_submitter("nobody/has-this:1", "Pending", {"waiting": waiting}).sentences[0]
    assert first.what == "Pod job-x is not ready: ErrImagePull"
    assert "nobody/has-this:1" in first.why
    assert "spec.submitterPodTemplate" in first.fix


def test_while_ray_does_not_know_the_job_the_submitter_s_log_is_named() -> None:
    explained = explain_with_submitter("ray:1", "Running", {"running": {}})
    assert explained.notes[0].what == "Ray does not know the job yet: Pod job-x is about to submit it"
    assert "kubectl logs job-x" in explained.notes[0].fix
