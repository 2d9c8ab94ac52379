"""A recorded case with RayJobs, played without a Ray, and judged against the recording.

The recording stopped at some moment: what was created by then must be created, the events must be told, and the last
phase must be passed through. Two more things are read with care: the clusters' own status depends on how quick the
nodes were, and a job without a Ray comes to its end some minutes later.
"""

import asyncio
import json
import re
from collections.abc import Iterator

from msgspec import Struct

from conformance.operator.administrator import EVENT
from conformance.operator.judging import mask_namespace, mask_text
from conformance.operator.playing import Tree, namespace_of
from conformance.operator.worlds import Operated
from conformance.operator.write_log import Write
from golden_cases import GoldenCase, load_compare
from heliostat.api.documents import is_ray_document
from heliostat.kube.documents import read_documents
from heliostat.operator.kinds import RAY_JOB
from heliostat.runtime.errors import ApiError

_PATIENCE = 60.0  # seconds: whoever waits for Ray gives up after a submitter's end
_COMPARED = ("jobStatus", "reason", "failed", "succeeded")
_ORIGIN = "ray.io/originated-from-cr-name"
_KIND = RAY_JOB.kind
# What follows when nobody ever answers, and what a spec that needs a Ray of its own gets meanwhile.
_LATER = {"JobStatusCheckTimeoutExceeded"}


class PlayedJobs(Struct, frozen=True):
    namespace: str
    writes: list[Write]
    events: list[Tree]
    refusals: list[str]


def is_about_jobs(case: GoldenCase) -> bool:
    return any(tree["kind"] == RAY_JOB.kind for tree in _documents(case))


def _documents(case: GoldenCase) -> list[Tree]:
    found = [document.tree for document in read_documents(case.input.read_bytes(), case.input.name)]
    return [tree for tree in found if is_ray_document(tree)]


async def play_jobs(operated: Operated, case: GoldenCase) -> PlayedJobs:
    """Afterwards the namespace is gone, and everything in it."""
    refusals = await apply_jobs(operated, case)
    await rest_without_ray(operated)
    played = await observe_jobs(operated, case, refusals)
    await operated.world.remove_namespace(played.namespace)
    operated.log.forget(played.namespace)
    return played


async def apply_jobs(operated: Operated, case: GoldenCase) -> list[str]:
    """What the server refused."""
    namespace, refusals = namespace_of(case), []
    await operated.world.make_namespace(namespace)
    for tree in _documents(case):
        placed = tree | {"metadata": _named(tree, case) | {"namespace": namespace}}
        try:
            await operated.admin.create(RAY_JOB, placed)
        except ApiError as error:
            refusals.append(str(error))
    return refusals


async def rest_without_ray(operated: Operated) -> None:
    await operated.rest()
    await asyncio.sleep(_PATIENCE)
    await operated.rest()


async def observe_jobs(operated: Operated, case: GoldenCase, refusals: list[str]) -> PlayedJobs:
    namespace = namespace_of(case)
    events = await operated.admin.items(EVENT, namespace)
    writes = operated.log.in_namespace(namespace)
    return PlayedJobs(namespace, writes, [e for e in events if e["regarding"]["kind"] == RAY_JOB.kind], refusals)


def _named(tree: Tree, case: GoldenCase) -> Tree:
    """An input with generateName got its name from the API server: take the one of the recording."""
    metadata = dict(tree["metadata"])
    if "generateName" in metadata:
        clusters = [made for made in case.expected["creates"] if made["kind"] == "RayCluster"]
        metadata["name"] = clusters[0]["metadata"]["labels"][_ORIGIN] if clusters else f"{metadata['generateName']}x"
        del metadata["generateName"]
    return metadata


def judge_job_case(case: GoldenCase, played: PlayedJobs) -> list[str]:
    expected = case.expected
    if "admission_error" in expected:
        return [] if played.refusals else ["the server took it"]
    if played.refusals:
        return played.refusals
    return [*_judge_creates(expected, played), *_judge_events(expected, played), *_judge_status(expected, played)]


def _judge_creates(expected: Tree, played: PlayedJobs) -> Iterator[str]:
    made = [write.tree for write in played.writes if write.use.verb == "create" and write.is_done]
    owners = {tree["metadata"]["labels"][_ORIGIN] for tree in made if tree["kind"] == "RayCluster"}
    created = mask_cut(mask_namespace(made, played.namespace), owners)
    wanted = mask_cut(expected["creates"], owners)
    yield from load_compare().compare({"creates": wanted}, created, subset=True)


def mask_cut(trees: list[Tree], owners: set[str]) -> list[Tree]:
    """Long owner names push the random suffix to where a name is cut; compare.py only knows whole suffixes."""
    text = json.dumps(trees)
    for owner in owners:
        text = re.sub(rf"({re.escape(owner)}-)[a-zA-Z0-9]{{1,4}}(?=-(head|worker)-)", r"\1RAND", text)
    text = re.sub(r"-[a-zA-Z0-9]{5}-head-ingress", "-RAND5-head-ingress", text)
    masked: list[Tree] = json.loads(text)
    return masked


def _judge_events(expected: Tree, played: PlayedJobs) -> Iterator[str]:
    ours = mask_namespace(played.events, played.namespace)
    wanted = {(e["type"], e["reason"], _mask_note(e["message"])) for e in expected["events"] if e["object"] == _KIND}
    told = {(event["type"], event["reason"], _mask_note(event["note"])) for event in ours}
    if wanted - told:
        yield f"events not told: {sorted(wanted - told)}"
    beyond = {event[1] for event in told} - {event[1] for event in wanted} - _allowed_beyond(expected)
    if beyond:
        yield f"events told, not recorded: {sorted(beyond)}"


def _mask_note(note: str) -> str:
    """Names that were drawn; and what is wrong with a YAML text is told by another reader in other words."""
    if "RuntimeEnvYAML" in note:
        return note.partition("RuntimeEnvYAML")[0]
    return re.sub(r"-(RAND5|[a-z0-9]{5})\b", "-RAND5", note)


def _allowed_beyond(expected: Tree) -> set[str]:
    """A recording that ended early has not seen what comes after."""
    (status,) = [entry["status"] for entry in expected["last_status"] if entry["resource"] == RAY_JOB.plural] or [{}]
    if status.get("jobDeploymentStatus") in ("ValidationFailed", "Suspended", "Failed"):
        return set()
    return {"CreatedRayCluster", "CreatedRayJobSubmitter", "CreatedService", "DeletedRayCluster", "UpdatedRayCluster"}


def _judge_status(expected: Tree, played: PlayedJobs) -> Iterator[str]:
    recorded = [entry["status"] for entry in expected["last_status"] if entry["resource"] == RAY_JOB.plural]
    shown = [
        write.answer["status"]
        for write in played.writes
        if write.use.resource == RAY_JOB.plural and write.use.subresource == "status" and write.is_done
    ]
    if not recorded:
        if shown:
            yield f"no status was recorded, ours is {shown[-1]}"
        return
    phase = recorded[0].get("jobDeploymentStatus")
    ours = [status for status in shown if status.get("jobDeploymentStatus") == phase]
    if not ours:
        yield f"phase {phase} was never passed, {[status.get('jobDeploymentStatus') for status in shown]}"
        return
    for key in _COMPARED:
        if recorded[0].get(key) != ours[-1].get(key) and ours[-1].get("reason") not in _LATER:
            yield f"status.{key}: recorded {recorded[0].get(key)}, got {ours[-1].get(key)}"
    said, own = mask_text(recorded[0].get("message", "")), mask_text(ours[-1].get("message", ""))
    if phase == "ValidationFailed" and "unmarshal" not in said and said != own:
        yield f"message: recorded {said}, got {own}"
