"""K7: versions that the real server makes although nothing but the owners of fields has changed.

It keeps ``managedFields`` from the first write on, so a write by another door or by another manager that changes
nothing else still makes a version and an event. In a recording, which has no ``managedFields``, such a version is the
one before it once more. Here it becomes that one again, on both sides, because ours makes such versions too once an
object was applied; but not when ours made more of them than the real one: that stays a difference.
"""

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from conformance.model import Call, Json, Sequence, Step
from conformance.recording import Recording

_VERSION = re.compile(r"^<version (\d+)>$")
_Shown = dict[str, Json]  # view -> content
_Numbers: TypeAlias = dict[str, dict[int, int]]  # uid -> version as recorded -> version as compared


def without_moved_owners(sequence: Sequence, real: Recording, own: Recording) -> tuple[Recording, Recording]:
    left, right = _find_moves(sequence, real), _find_moves(sequence, own)
    if any(_moves(right[uid]) > _moves(left.get(uid, {})) for uid in right):
        return real, own
    return _follow(real, left), _follow(own, right)


def moved_objects(sequence: Sequence, recording: Recording) -> set[str]:
    """The names of objects of which there is such a version."""
    moved = (uid for uid, numbers in _find_moves(sequence, recording).items() if _moves(numbers))
    return {uid.removeprefix("<uid ").partition("#")[0] for uid in moved}


def _find_moves(sequence: Sequence, recording: Recording) -> _Numbers:
    answers = [answer for step, answer in zip(sequence.steps, recording.steps, strict=True) if not _is_dry_run(step)]
    return {uid: _renumber(seen) for uid, seen in _versions_seen(answers).items()}


def _is_dry_run(step: Step) -> bool:
    """Its answer shows a version with contents that it does not have."""
    is_told = isinstance(step, Call) and isinstance(step.body, dict) and "dryRun" in step.body
    return is_told or (isinstance(step, Call) and "dryRun" in step.query)


def _moves(numbers: dict[int, int]) -> int:
    return len(numbers) - len({*numbers.values()})


def _follow(recording: Recording, numbers: _Numbers) -> Recording:
    told: dict[str, str] = {}
    return Recording(recording.digest, [_step(step, numbers, told) for step in recording.steps])


def _versions_seen(answers: list[Json]) -> dict[str, dict[int, _Shown]]:
    """Of every object, of every version, how it was shown first: a write that lets it go shows it changed."""
    seen: dict[str, dict[int, _Shown]] = {}
    last = [event["object"] for answer in answers for event in answer.get("events", ()) if event["type"] == "DELETED"]
    for tree in _objects(answers):
        metadata = tree["metadata"]
        found = _VERSION.match(str(metadata.get("resourceVersion")))
        if found is not None and isinstance(metadata.get("uid"), str):
            shown = seen.setdefault(metadata["uid"], {}).setdefault(int(found[1]), {})
            if tree not in last:
                shown.setdefault(_view(tree), _content(tree))
    return seen


def _objects(tree: Json) -> Iterator[dict[str, Any]]:
    if isinstance(tree, list):
        for item in tree:
            yield from _objects(item)
    elif isinstance(tree, dict):
        if isinstance(tree.get("metadata"), dict):
            yield tree
        for key, value in tree.items():
            if key != "metadata":
                yield from _objects(value)


def _view(tree: Json) -> str:
    """A list shows its items without their kind, and all of them."""
    return str(tree["kind"]) if tree.get("kind") in ("Scale", "PartialObjectMetadata") else ""


def _content(tree: Json) -> Json:
    metadata = {key: value for key, value in tree["metadata"].items() if key != "resourceVersion"}
    return {**{key: value for key, value in tree.items() if key not in ("kind", "apiVersion")}, "metadata": metadata}


def _renumber(seen: dict[int, _Shown]) -> dict[int, int]:
    """A version that was shown just as the one before it has its number."""
    numbers: dict[int, int] = {}
    number, before = 0, _Shown()
    for version in sorted(seen):
        if _is_shown_alike(seen[version], before):
            before = {**before, **seen[version]}
        else:
            number, before = number + 1, seen[version]
        numbers[version] = number
    return numbers


def _is_shown_alike(new: _Shown, old: _Shown) -> bool:
    if "" not in new and "Scale" in new and "" in old:
        return bool(_replicas(new["Scale"]) == _replicas(old[""]))
    return any(view in old and old[view] == content for view, content in new.items())


def _replicas(tree: Json) -> Json:
    return (tree.get("spec") or {}).get("replicas", 0)


def _step(step: Json, numbers: _Numbers, told: dict[str, str]) -> Json:
    step = _renumbered(step, numbers)
    if "events" not in step:
        return step
    return {**step, "events": [event for event in step["events"] if not _is_told_again(event, told)]}


def _is_told_again(event: Json, told: dict[str, str]) -> bool:
    """Whether a watch tells of the version that it told of last."""
    metadata = event["object"].get("metadata") or {}
    uid, version = str(metadata.get("uid")), str(metadata.get("resourceVersion"))
    is_repeated = event["type"] == "MODIFIED" and told.get(uid) == version
    told[uid] = version
    return is_repeated


def _renumbered(tree: Json, numbers: _Numbers) -> Json:
    if isinstance(tree, list):
        return [_renumbered(item, numbers) for item in tree]
    if not isinstance(tree, dict):
        return tree
    renumbered = {key: _renumbered(value, numbers) for key, value in tree.items()}
    found = _VERSION.match(str(tree.get("resourceVersion")))
    uid = tree.get("uid")
    if found is not None and isinstance(uid, str) and int(found[1]) in numbers.get(uid, {}):
        renumbered["resourceVersion"] = f"<version {numbers[uid][int(found[1])]}>"
    return renumbered
