"""A recorded case with RayServices, played without a Ray, and judged against the recording.

The recording stopped where Serve did not answer: what was created by then must be created and nothing else, the events
must be told, and the status must be equal.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from conformance.operator.administrator import EVENT
from conformance.operator.job_cases import mask_cut
from conformance.operator.judging import mask_namespace, mask_text
from conformance.operator.playing import Tree, namespace_of
from conformance.operator.worlds import Operated
from conformance.operator.write_log import Write
from golden_cases import GoldenCase, load_compare
from heliostat.api.documents import is_ray_document
from heliostat.kube.documents import read_documents
from heliostat.operator.kinds import RAY_SERVICE
from heliostat.runtime.errors import ApiError

_PATIENCE = 30.0  # seconds: whoever waits for Serve goes on waiting
_ORIGIN = "ray.io/originated-from-cr-name"
# KubeRay's cache once made it create a cluster twice.
_NOT_TOLD = {"FailedToCreateRayCluster"}


class PlayedServices(Struct, frozen=True):
    namespace: str
    writes: list[Write]
    events: list[Tree]
    services: list[Tree]
    refusals: list[str]


def is_about_services(case: GoldenCase) -> bool:
    return any(tree["kind"] == RAY_SERVICE.kind for tree in _documents(case))


def _documents(case: GoldenCase) -> list[Tree]:
    found = [document.tree for document in read_documents(case.input.read_bytes(), case.input.name)]
    return [tree for tree in found if is_ray_document(tree)]


async def play_services(operated: Operated, case: GoldenCase) -> PlayedServices:
    """Afterwards the namespace is gone, and everything in it."""
    namespace, refusals = namespace_of(case), []
    await operated.world.make_namespace(namespace)
    for tree in _documents(case):
        try:
            await operated.admin.create(RAY_SERVICE, tree | {"metadata": tree["metadata"] | {"namespace": namespace}})
        except ApiError as error:
            refusals.append(str(error))
    await operated.rest()
    await asyncio.sleep(_PATIENCE)
    await operated.rest()
    events = await operated.admin.items(EVENT, namespace)
    services = await operated.admin.items(RAY_SERVICE, namespace)
    writes = operated.log.in_namespace(namespace)
    await operated.world.remove_namespace(namespace)
    operated.log.forget(namespace)
    told = [event for event in events if event["regarding"]["kind"] == RAY_SERVICE.kind]
    return PlayedServices(namespace, writes, told, services, refusals)


def judge_service_case(case: GoldenCase, played: PlayedServices) -> list[str]:
    expected = case.expected
    if "admission_error" in expected:
        return [] if played.refusals else ["the server took it"]
    if played.refusals:
        return played.refusals
    return [
        *_judge_creates(expected, played),
        *_judge_events(expected, played),
        *_judge_status(expected, played),
        *_judge_generation(case, played),
    ]


def _judge_creates(expected: Tree, played: PlayedServices) -> Iterator[str]:
    made = [write.tree for write in played.writes if write.use.verb == "create" and write.is_done]
    owners = {tree["metadata"]["labels"][_ORIGIN] for tree in made if tree["kind"] == "RayCluster"}
    created = mask_cut(mask_namespace(made, played.namespace), owners)
    yield from load_compare().compare({"creates": mask_cut(expected["creates"], owners)}, created, subset=True)


def _judge_events(expected: Tree, played: PlayedServices) -> Iterator[str]:
    recorded = [event for event in expected["events"] if event["object"] == RAY_SERVICE.kind]
    wanted = {event["reason"] for event in recorded} - _NOT_TOLD
    told = {event["reason"] for event in played.events}
    if wanted != told:
        yield f"events: not told {sorted(wanted - told)}, told beyond {sorted(told - wanted)}"
    refused = {mask_text(event["message"]) for event in recorded if event["reason"].startswith("Invalid")}
    notes = {mask_text(event["note"]) for event in mask_namespace(played.events, played.namespace)}
    yield from (f"not told: {text}" for text in refused - notes)


def _judge_status(expected: Tree, played: PlayedServices) -> Iterator[str]:
    recorded = [entry["status"] for entry in expected["last_status"] if entry["resource"] == RAY_SERVICE.plural]
    ours = [service["status"] for service in played.services if service.get("status")]
    if len(recorded) != len(ours):
        yield f"{len(recorded)} had a status, ours {len(ours)}"
        return
    for theirs, own in zip(recorded, ours, strict=True):
        wanted, got = _plain(theirs), _plain(own)
        yield from (
            f"status.{key}: recorded {wanted.get(key)}, got {got.get(key)}"
            for key in sorted(wanted.keys() | got.keys())
            if wanted.get(key) != got.get(key)
        )


def _judge_generation(case: GoldenCase, played: PlayedServices) -> Iterator[str]:
    """KubeRay's finalizer spells out more of the spec than ours; where the head's metadata is not said, both do."""
    recorded = [entry["status"] for entry in case.expected["last_status"] if entry["resource"] == RAY_SERVICE.plural]
    ours = [service["status"] for service in played.services if service.get("status")]
    for tree, theirs, own in zip(_documents(case), recorded, ours, strict=False):
        wanted, got = (status.get("observedGeneration") for status in (theirs, own))
        says_all = "metadata" in tree["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]
        if wanted != got and not (says_all and wanted == (got or 0) + 1):
            yield f"status.observedGeneration: recorded {wanted}, got {got}"


def _plain(status: Tree) -> Tree:
    """Generations are judged by themselves. Names are drawn."""
    kept: dict[str, Any] = {key: status[key] for key in status if key not in ("lastUpdateTime", "observedGeneration")}
    for slot in ("activeServiceStatus", "pendingServiceStatus"):
        name = kept[slot].get("rayClusterName", "")
        kept[slot] = {**kept[slot], "rayClusterName": name.rpartition("-")[0]}
    told = ("type", "status", "reason", "message")
    kept["conditions"] = [{key: mask_text(each[key]) for key in told} for each in status.get("conditions") or ()]
    return kept
