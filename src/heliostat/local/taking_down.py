"""Take down what a file has made: what was there before stays, and so does what it may need by now.

RayClusters, RayJobs and RayServices go first, and the rest when they are gone: one with its state in Redis has it
cleaned up on its way, and waits for minutes when its Redis, of the same file, goes at the same time.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from heliostat.desired import labels
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.local.file_pods import fetch_file_pods
from heliostat.local.session import Session
from heliostat.plan.raycluster.deletion import COLLECTING
from heliostat.plan.raycluster.deletion import FINALIZER as REDIS_CLEANUP
from heliostat.plan.rayjob.deletion import FINALIZER as JOB_STOP
from heliostat.plan.rayservice.deletion import FINALIZER as CLUSTERS_FIRST
from heliostat.runtime.errors import ApiError

RAY_CLUSTER = "RayCluster"
_WITH_RAY = (RAY_CLUSTER, "RayJob", "RayService")
_POLL_SECONDS = 0.2
_WITH_CLUSTERS = ("RayJob", "RayService")
_CLUSTERS = ResourceType("ray.io/v1", RAY_CLUSTER, "rayclusters")
_HOLDS = {
    REDIS_CLEANUP: "its state in Redis is cleaned up first, which takes up to 5 minutes when that Redis is gone",
    JOB_STOP: "Ray is asked to stop its job first",
    CLUSTERS_FIRST: "its clusters go first",
}


class Made(Struct, frozen=True):
    tree: JsonObject  # as the server has it
    is_new: bool
    is_changed: bool = True  # by the document


async def take_down(
    session: Session, made: Sequence[Made], show: Callable[[tuple[str, ...]], None], seconds: float
) -> list[JsonObject]:
    """What is still there after so many seconds."""
    leaving = find_leaving(made)
    clusters = [tree for tree in leaving if tree["kind"] in _WITH_RAY]
    others = [tree for tree in leaving if tree["kind"] not in _WITH_RAY]
    deadline = time.monotonic() + seconds
    left: list[JsonObject] = []
    for stage in (clusters, others):
        for tree in stage:
            await session.delete(tree)
        left += await wait_gone(session, stage, show, deadline)
    return left


def find_leaving(made: Sequence[Made]) -> list[JsonObject]:
    """What is new; beside what stays only what runs Ray itself."""
    new = [each.tree for each in reversed(made) if each.is_new]
    return [tree for tree in new if tree["kind"] in _WITH_RAY] if find_staying(made) else new


def find_staying(made: Sequence[Made]) -> list[JsonObject]:
    """What runs Ray and was there before: its new spec may name the ConfigMaps and Secrets of the same file."""
    return [each.tree for each in made if each.tree["kind"] in _WITH_RAY and not each.is_new]


async def wait_gone(
    session: Session, trees: Sequence[JsonObject], show: Callable[[tuple[str, ...]], None], deadline: float
) -> list[JsonObject]:
    """What is still there at the deadline, on the monotonic clock."""
    shown: tuple[str, ...] = ()
    while left := [found for tree in trees if (found := await _find(session, tree)) is not None]:
        fresh = tuple([line for tree in left for line in await _tell(session, tree)])
        if fresh != shown:
            show(fresh)
            shown = fresh
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(_POLL_SECONDS)
    return left


async def _tell(session: Session, tree: JsonObject) -> list[str]:
    lines = [f"… {tree['kind']} {tree['metadata']['name']}: is being deleted{tell_hold(tree)}"]
    try:
        clusters = await _fetch_clusters(session, tree) if tree["kind"] in _WITH_CLUSTERS else []
        pods = await fetch_file_pods(session, [*clusters, tree], tree)
    except ApiError:
        return lines
    return lines + [f"  … {pod['metadata']['name']}: ends{_tell_time(pod)}" for pod in pods.all]


async def _fetch_clusters(session: Session, tree: JsonObject) -> list[JsonObject]:
    """That a RayJob or a RayService has made."""
    selector = f"{labels.ORIGIN_NAME}={tree['metadata']['name']},{labels.ORIGIN_KIND}={tree['kind']}"
    listed = await session.list_in(_CLUSTERS, tree["metadata"]["namespace"], selector)
    return [each | {"kind": RAY_CLUSTER} for each in listed]


def _tell_time(pod: JsonObject) -> str:
    """Ray takes all of it while it has actors: it drains its node first."""
    seconds = pod["metadata"].get("deletionGracePeriodSeconds")
    return f" within {seconds} s" if seconds else ""


def tell_hold(tree: JsonObject) -> str:
    """What holds an object that is being deleted; empty when that is only what belongs to it."""
    held = [str(each) for each in tree["metadata"].get("finalizers") or () if each not in COLLECTING]
    told = [words for finalizer, words in _HOLDS.items() if finalizer in held]
    others = [each for each in held if each not in _HOLDS]
    told += [f"finalizers: {', '.join(others)}"] if others else []
    return "".join(f"; {words}" for words in told)


async def _find(session: Session, tree: JsonObject) -> JsonObject | None:
    """As it was last seen, while the server says nothing."""
    try:
        found = await session.find(tree)
    except ApiError:
        return tree
    is_same = found is not None and found["metadata"]["uid"] == tree["metadata"]["uid"]
    return found if is_same else None
