"""The state of a RayJob, and the first thing that stands in its way: its phase, its plan, its cluster, its end.

Order of the sentences: what people have to mend in the spec; what its cluster waits for, while there is none yet; what
the job itself waits for; how it ended.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.names import submitter_job_name
from heliostat.explain.events import Warnings
from heliostat.explain.explanation import Explanation, Sentence, join_unique
from heliostat.explain.last_words import read_last_words
from heliostat.explain.pods import find_pod_trouble, tell_troubles
from heliostat.explain.raycluster.cluster import explain_cluster
from heliostat.explain.scene import Scene, look_at
from heliostat.explain.waits import tell_waits
from heliostat.kube.plan import Plan
from heliostat.kube.pods import PodView, view_pod
from heliostat.plan.own_conditions import SPEC_NOT_APPLIED
from heliostat.plan.rayjob.kind import RAY_JOB
from heliostat.plan.rayjob.phases import Phase, Reason
from heliostat.plan.rayjob.reasons import Hold
from heliostat.plan.rayjob.status import shown_phase

_QUIET = frozenset({Hold.OVER, Hold.JOB_RUNS, Hold.CLUSTER_NOT_READY, Hold.SUBMISSION, Hold.CLEANUP, Hold.EDIT_WAITS})

_SUBMITTER = "it submits the job: its template is spec.submitterPodTemplate, or else it has the image of the head"

_FIXES: dict[str, str] = {
    Reason.APP_FAILED: "read the program's own log: heliostat logs rayjob/NAME, or ray job logs on the cluster",
    Reason.SUBMISSION_FAILED: "read the submitter's log (kubectl logs job/NAME), and check its image and its network",
    Reason.DEADLINE_EXCEEDED: "give it more time in spec.activeDeadlineSeconds, and create it anew",
    Reason.PRE_RUNNING_DEADLINE_EXCEEDED: (
        "give it more time in spec.preRunningDeadlineSeconds, or find out why its cluster was not ready"
    ),
    Reason.GRACE_PERIOD_EXCEEDED: "look at the submitter: it and the Ray job did not end together",
    Reason.STATUS_CHECK_TIMEOUT_EXCEEDED: (
        "look at the head Pod: the dashboard has to answer; RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS of the operator is how"
        " long silence may last"
    ),
}


def explain_job(scene: Scene, settings: Settings) -> Explanation:
    situation = look_at(RAY_JOB, scene, settings)
    if isinstance(situation, Explanation):
        return situation
    observed, plan = situation.observed, RAY_JOB.plan(situation)
    phase = shown_phase(observed.status)
    submitters = _list_submitters(phase, scene)
    sentences = join_unique(
        (
            *_tell_cluster(phase, scene, settings),
            *_tell_submitter(submitters, scene),
            *_tell_plan(plan),
            *_tell_end(scene.tree, phase),
        )
    )
    edits = _tell_edits(scene, plan) if phase is Phase.RUNNING else ()
    return Explanation(
        title=scene.title,
        verdict=_verdict(observed.status, phase),
        is_ready=phase is Phase.COMPLETE or (phase is Phase.RUNNING and not sentences),
        sentences=sentences,
        notes=(
            *_tell_submission(submitters),
            *edits,
            *(Sentence(line) for line in RAY_JOB.tell(situation, scene.tree)),
        ),
    )


def _verdict(status: JsonObject, phase: Phase | None) -> str:
    shown = "has not been reconciled by an operator yet" if phase is Phase.NEW else f"is {phase or 'unknown'}"
    said = status.get("jobStatus")
    reason = f" ({status['reason']})" if status.get("reason") else ""
    return f"{shown}{reason}" + (f": Ray says {said}" if said else "")


def _tell_cluster(phase: Phase | None, scene: Scene, settings: Settings) -> Iterator[Sentence]:
    """Until the job runs, whatever holds up its cluster holds up the job."""
    if phase is Phase.INITIALIZING and scene.cluster:
        explained = explain_cluster(replace(scene, tree=scene.cluster), settings)
        if not explained.is_ready:
            yield from explained.sentences


def _tell_submitter(submitters: Iterable[PodView], scene: Scene) -> tuple[Sentence, ...]:
    """Why nobody has submitted the job yet: its submitter's Pod does not start, or fails."""
    troubles = (find_pod_trouble(pod, Warnings(scene.events)) for pod in submitters)
    told = tell_troubles(trouble for trouble in troubles if trouble is not None)
    return tuple(replace(sentence, fix=f"{sentence.fix}; {_SUBMITTER}") for sentence in told)


def _tell_submission(submitters: Iterable[PodView]) -> Iterator[Sentence]:
    """A submitter that runs may still wait for Ray, and only its log tells for what."""
    for pod in submitters:
        if pod.phase == "Running":
            fix = f"if this lasts, read what it waits for: kubectl logs {pod.name}"
            yield Sentence(f"Ray does not know the job yet: Pod {pod.name} is about to submit it", fix=fix)


def _list_submitters(phase: Phase | None, scene: Scene) -> list[PodView]:
    """The Pods that are to submit the job, for as long as Ray does not know it."""
    if phase is not Phase.RUNNING or scene.tree["status"].get("jobStatus"):
        return []
    job = submitter_job_name(scene.tree["metadata"]["name"])
    return [view_pod(tree) for tree in scene.objects if tree["kind"] == "Pod" and _is_of_submitter(tree, job)]


def _is_of_submitter(pod: JsonObject, job: str) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("kind") == "Job" and owner.get("name") == job for owner in owners)


def _tell_plan(plan: Plan) -> tuple[Sentence, ...]:
    return tell_waits(wait for wait in plan.waits if wait.reason not in _QUIET)


def _tell_edits(scene: Scene, plan: Plan) -> tuple[Sentence, ...]:
    """What the operator told after it had asked Ray, or what the cluster's own spec shows."""
    metadata, begun = scene.tree["metadata"], str(scene.tree["status"].get("startTime") or "")
    told = Warnings(scene.events).about("RayJob", metadata["name"], metadata.get("uid", ""))
    of_attempt = (warned for warned in told if warned.moment >= begun)
    found = next((warned.message for warned in of_attempt if warned.reason == SPEC_NOT_APPLIED), "")
    if found:
        about = Hold.EDIT_WAITS.about
        return (Sentence(about.meaning, found, about.fix),)
    return tell_waits(wait for wait in plan.waits if wait.reason == Hold.EDIT_WAITS)


def _tell_end(job: JsonObject, phase: Phase | None) -> Iterator[Sentence]:
    """With the last lines of the driver, which Ray puts into its message."""
    status = job.get("status") or {}
    if phase in (Phase.FAILED, Phase.RETRYING):
        fix = _FIXES.get(str(status.get("reason")), "").replace("NAME", job["metadata"]["name"])
        words = read_last_words(str(status.get("message") or ""))
        yield Sentence(f"it failed: {status.get('reason')}", words.said, fix, words.lines)
