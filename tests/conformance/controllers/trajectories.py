"""The way that objects went: their phases and conditions, each change once, moments and words left out.

Deployments and ReplicaSets are not followed: which of their conditions are written together depends on which real
controller is faster. Looks show their conditions wherever the way rests.
"""

from collections.abc import Iterable, Iterator

from conformance.controllers.masking import Masker
from conformance.controllers.model import Json
from conformance.controllers.story import Version

_FOLLOWED = ("Job", "Namespace", "PersistentVolume", "PersistentVolumeClaim")


def trajectories(masker: Masker, versions: Iterable[Version]) -> dict[str, list[list[str]]]:
    """By object; objects that no run can tell apart have their ways side by side, as a set."""
    ways: dict[tuple[str, str], list[str]] = {}
    names: dict[tuple[str, str], str] = {}
    for version in versions:
        if version.kind not in _FOLLOWED:
            continue
        metadata = version.tree["metadata"]
        key = (version.kind, metadata["uid"])
        names[key] = f"{version.kind} {masker.text(metadata['name'])}"
        way = ways.setdefault(key, [])
        place = "gone" if version.is_deleted else place_of(version.tree)
        if not way or way[-1] != place:
            way.append(place)
    told: dict[str, list[list[str]]] = {}
    for key, way in ways.items():
        told.setdefault(names[key], []).append(way)
    return {name: sorted(told[name]) for name in sorted(told)}


def place_of(tree: Json) -> str:
    status = tree.get("status") or {}
    parts = [status["phase"]] if status.get("phase") else []
    parts += sorted(_conditions(status))
    if tree["metadata"].get("deletionTimestamp"):
        parts.append("terminating")
    return ", ".join(parts) or "-"


def _conditions(status: Json) -> Iterator[str]:
    for condition in status.get("conditions") or ():
        yield f"{condition['type']}={condition['status']} ({condition.get('reason', '')})"
