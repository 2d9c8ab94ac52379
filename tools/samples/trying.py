"""Runs one sample on a control plane that is up, until it is ready or cannot be, and takes it down again."""

import asyncio
import contextlib
import time
from collections.abc import Sequence

from tools.samples.verdicts import (
    CANNOT,
    Tree,
    Verdict,
    find_needs,
    find_reservations,
    is_ray,
    judge_late,
    judge_objects,
    tell_states,
)

from heliostat.kube.resource_types import ResourceType
from heliostat.local.session import Session, UnknownKindError
from heliostat.runtime.errors import ApiError

NAMESPACE = "default"
_RAY_JOB = ResourceType("ray.io/v1", "RayJob", "rayjobs")
_POD = ResourceType("v1", "Pod", "pods")
_EVENT = ResourceType("events.k8s.io/v1", "Event", "events")
_POLL_SECONDS = 0.5
_STEADY_SECONDS = 12.0  # that a bad sign must last: a claim may come, a Secret may be made
_GONE_SECONDS = 420.0  # a clean-up of Redis gives up after five minutes


async def try_sample(session: Session, trees: Sequence[Tree], seconds: float) -> Verdict:
    """Everything that it made is gone afterwards."""
    placed: list[Tree] = []
    try:
        for tree in trees:
            placed.append(await session.place(_name(tree), NAMESPACE))
            await session.apply(placed[-1])
        verdict = await _watch(session, placed, seconds)
    except (UnknownKindError, ApiError) as error:
        verdict = Verdict(CANNOT, _explain(error))
    finally:
        await _take_down(session, placed)
    said = find_needs(trees) if verdict.here == CANNOT else find_reservations(trees)
    return Verdict(verdict.here, "; ".join(filter(None, (*said, verdict.why))))


def _name(tree: Tree) -> Tree:
    """A document that wants its name drawn gets one, so that it can be found again."""
    metadata = tree["metadata"]
    return tree if "name" in metadata else {**tree, "metadata": {**metadata, "name": f"{metadata['generateName']}x"}}


def _explain(error: Exception) -> str:
    if isinstance(error, UnknownKindError):
        return f"another operator's kind: {error}"
    return f"refused: {error}"


async def _watch(session: Session, placed: Sequence[Tree], seconds: float) -> Verdict:
    deadline = time.monotonic() + seconds
    bad_since: float | None = None
    while True:
        objects = [found for tree in placed if (found := await session.find(tree)) is not None]
        objects += await _find_made(session, objects)
        verdict = judge_objects(objects, await session.list_in(_POD, NAMESPACE))
        now = time.monotonic()
        if verdict is not None and verdict.here != CANNOT:
            return verdict
        bad_since = (bad_since or now) if verdict is not None else None
        if verdict is not None and bad_since is not None and now - bad_since > _STEADY_SECONDS:
            return verdict
        if now > deadline:
            verdict = verdict or judge_late(objects, seconds)
            if verdict is None:
                why = await _find_last_warning(session, objects)
                verdict = Verdict(CANNOT, f"not ready after {seconds:.0f} s: {why}")
            return verdict
        await asyncio.sleep(_POLL_SECONDS)


async def _find_made(session: Session, objects: Sequence[Tree]) -> list[Tree]:
    """The RayJobs of a RayCronJob: it runs when they do."""
    crons = {each["metadata"]["uid"] for each in objects if each["kind"] == "RayCronJob"}
    jobs = await session.list_in(_RAY_JOB, NAMESPACE) if crons else []
    return [job for job in jobs if crons & {owner["uid"] for owner in job["metadata"].get("ownerReferences", ())}]


async def _find_last_warning(session: Session, objects: Sequence[Tree]) -> str:
    """What events say about what belongs to Ray."""
    uids = {each["metadata"]["uid"] for each in objects if is_ray(each)}
    events = await session.list_in(_EVENT, NAMESPACE)
    about = [event for event in events if event["regarding"].get("uid") in uids and event["type"] == "Warning"]
    about.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
    return str(about[-1]["note"]) if about else tell_states(objects)


async def _take_down(session: Session, placed: Sequence[Tree]) -> None:
    """What belongs to Ray first: its end may need what else the file has."""
    for part in ([tree for tree in placed if is_ray(tree)], [tree for tree in placed if not is_ray(tree)]):
        for tree in part:
            found = await session.find(tree)
            if found is not None:
                await session.delete(found)
        await _until_gone(session, part)
    deadline = time.monotonic() + _GONE_SECONDS
    while await session.list_in(_POD, NAMESPACE) and time.monotonic() < deadline:
        await asyncio.sleep(_POLL_SECONDS)


async def _hurry(session: Session) -> None:
    """Nobody wants anything more of Pods that are being deleted: no grace for their ends."""
    for pod in await session.list_in(_POD, NAMESPACE):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if pod["metadata"].get("deletionGracePeriodSeconds", 0) > 1:
            with contextlib.suppress(ApiError):
                await session.client.delete(_POD, NAMESPACE, name, uid=uid, grace_seconds=1)


async def _until_gone(session: Session, trees: Sequence[Tree]) -> None:
    deadline = time.monotonic() + _GONE_SECONDS
    while time.monotonic() < deadline:
        if all([await session.find(tree) is None for tree in trees]):
            return
        await _hurry(session)
        await asyncio.sleep(_POLL_SECONDS)
    raise RuntimeError(f"not gone after {_GONE_SECONDS:.0f} s: {', '.join(tree['metadata']['name'] for tree in trees)}")
