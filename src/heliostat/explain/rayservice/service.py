"""The state of a RayService, and the first thing that stands in its way: its conditions, its plan, its clusters.

Order of the sentences: nobody works on it; what the cluster that gets ready waits for; whether Serve answers there,
and takes the configuration; what its applications say; what the plan waits for.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation, Sentence, join_unique
from heliostat.explain.last_words import read_last_words
from heliostat.explain.raycluster.cluster import explain_cluster, tell_absence
from heliostat.explain.rayservice.messages import find_message
from heliostat.explain.rayservice.refusal import find_refusal, is_followed
from heliostat.explain.scene import Scene, look_at
from heliostat.explain.waits import tell_waits
from heliostat.kube.plan import WriteStatus
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.answers import RUNNING
from heliostat.plan.rayservice.kind import RAY_SERVICE
from heliostat.plan.rayservice.observed import ACTIVE, PENDING
from heliostat.plan.rayservice.reasons import Hold

# Said better by the cluster itself, by the applications, or by the verdict.
_QUIET = frozenset(
    {Hold.CLUSTER_STARTS, Hold.SERVE_SILENT, Hold.DEPLOYING, Hold.NO_REQUESTS, Hold.UNUSED, Hold.UPGRADE}
)


_FAILED = ("DEPLOY_FAILED", "UNHEALTHY")
_FIX = (
    "correct the program or spec.serveConfigV2, and apply it again: Serve deploys what changed; heliostat dashboard"
    " {cluster} shows more"
)
_NO_ROOM = (
    "ask for less in spec.serveConfigV2 (ray_actor_options of its deployments), or give the cluster more or larger"
    " nodes in spec.rayClusterConfig"
)
_LACKS = "Resources required for each replica"  # Serve's words for replicas that no Ray node has room for
_WAIT = "wait: Serve is at work; heliostat get rayservice/{service} -w shows how far it is"


def explain_service(scene: Scene, settings: Settings) -> Explanation:
    situation = look_at(RAY_SERVICE, scene, settings)
    if isinstance(situation, Explanation):
        return situation
    plan = RAY_SERVICE.plan(situation)
    status = scene.tree.get("status") or {}
    waits = tell_waits(wait for wait in plan.waits if wait.reason not in _QUIET)
    is_ready = statuses.is_true(status, statuses.READY)
    is_whole = is_ready and not statuses.is_true(status, statuses.UPGRADE)
    has_work = any(not isinstance(action, WriteStatus) for action in plan.actions())
    troubles = () if is_whole else (*_tell_cluster(scene, settings), *_tell_silence(scene))
    return Explanation(
        title=scene.title,
        verdict=_verdict(status),
        is_ready=is_ready,
        sentences=join_unique(
            (
                *tell_absence(scene.operator, has_work=has_work or not status),
                *troubles,
                *_tell_refusal(scene),
                *_tell_applications(scene.tree["metadata"]["name"], status),
                *waits,
            )
        ),
    )


def _verdict(status: JsonObject) -> str:
    if statuses.is_true(status, statuses.SUSPENDED):
        return "is suspended"
    if not status:
        return "has not been reconciled by an operator yet"
    if not statuses.is_true(status, statuses.READY):
        return f"is not ready ({statuses.read_condition(status, statuses.READY)[1]})"
    number = status.get("numServeEndpoints", 0)
    count = f"{number} Pod" if number == 1 else f"{number} Pods"
    if statuses.is_true(status, statuses.UPGRADE):
        names = (status[slot].get("rayClusterName") for slot in (ACTIVE, PENDING))
        return "serves with {}, and moves from {} to {}".format(count, *names)
    return f"serves with {count}"


def _tell_cluster(scene: Scene, settings: Settings) -> Iterator[Sentence]:
    """Until the applications run, whatever holds up the cluster holds up the service."""
    if scene.cluster:
        explained = explain_cluster(replace(scene, tree=scene.cluster), settings)
        if not explained.is_ready:
            yield from explained.sentences


def _tell_silence(scene: Scene) -> Iterator[Sentence]:
    if scene.silence:
        name = scene.cluster["metadata"]["name"]
        fix = f"read what the head says: heliostat logs raycluster/{name}; Serve is configured through its dashboard"
        yield Sentence(f"the dashboard of {name} does not answer for Serve", scene.silence, fix)


def _tell_refusal(scene: Scene) -> Iterator[Sentence]:
    """Serve goes on with what it has, so its applications do not tell it."""
    if scene.serve is None or is_followed(scene.tree, scene.serve):
        return
    name = scene.cluster["metadata"]["name"]
    refusal = find_refusal(scene.tree, name, scene.events)
    if refusal:
        yield Sentence(f"Serve on {name} did not take spec.serveConfigV2", refusal, "correct it, and apply it again")


def _tell_applications(service: str, status: JsonObject) -> Iterator[Sentence]:
    """With the last lines of what they say; those that failed first."""
    untold = [
        (slot.get("rayClusterName"), name, application)
        for slot in (status.get(PENDING) or {}, status.get(ACTIVE) or {})
        for name, application in sorted((slot.get("applicationStatuses") or {}).items())
        if application.get("status") != RUNNING
    ]
    for cluster, name, application in sorted(untold, key=lambda each: each[2].get("status") not in _FAILED):
        words = read_last_words(find_message(application))
        fix = _FIX if application.get("status") in _FAILED else _NO_ROOM if _LACKS in words.said else _WAIT
        where = f"application {name} is {application.get('status')} on {cluster}"
        yield Sentence(where, words.said, fix.format(service=service, cluster=cluster), words.lines)
