"""What is written down about a Pod while it lives, for the time when it is gone: who it was, its last status, and when
it became what.

    record.json     the newest, replaced whole
    timeline.jsonl  a line for every change of the phase or of a container's state, with the reason

Rules: what did not change is not written again; a line that was torn by a crash is left out.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.embedded.node.pods import NodePod
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp

RECORD = "record.json"
TIMELINE = "timeline.jsonl"
_TAIL = 64 * 1024


class PodRecord(Struct, frozen=True, rename="camel"):
    namespace: str
    name: str
    uid: str
    node: str = ""
    labels: dict[str, str] = {}
    containers: tuple[str, ...] = ()  # the main ones first
    status: dict[str, Any] = {}


class Moment(Struct, frozen=True, omit_defaults=True):
    at: str
    phase: str
    reason: str = ""
    containers: dict[str, str] = {}  # by name, such as "waiting: CrashLoopBackOff"


def build_record(pod: NodePod, status: JsonObject) -> PodRecord:
    metadata, spec = pod.metadata, pod.spec
    names = tuple(container.name for container in (*spec.containers, *spec.init_containers))
    return PodRecord(
        metadata.namespace, metadata.name, metadata.uid, spec.node_name, metadata.labels, names, dict(status)
    )


def build_moment(status: JsonObject, now: float) -> Moment:
    statuses = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    states = {str(each["name"]): _describe(each.get("state") or {}) for each in statuses}
    return Moment(format_timestamp(now), str(status.get("phase", "")), str(status.get("reason", "")), states)


def _describe(state: JsonObject) -> str:
    for kind, details in state.items():
        reason = str(details.get("reason") or "")
        code = details.get("exitCode")
        words = ", ".join(filter(None, (reason, f"exit code {code}" if code else "")))
        return f"{kind}: {words}" if words else kind
    return "waiting"


def write_record(place: Path, record: PodRecord, moment: Moment) -> None:
    """Into the Pod's directory; without one nothing has happened to the Pod here."""
    if not place.is_dir():
        return
    fresh = place / f"{RECORD}.new"
    fresh.write_bytes(msgspec.json.encode(record))
    fresh.replace(place / RECORD)
    last = _read_last(place / TIMELINE)
    if last is None or msgspec.structs.replace(last, at=moment.at) != moment:
        with (place / TIMELINE).open("ab") as file:
            file.write(msgspec.json.encode(moment) + b"\n")


def read_record(place: Path) -> PodRecord | None:
    """None: nothing was written, or it cannot be read."""
    try:
        return msgspec.json.decode((place / RECORD).read_bytes(), type=PodRecord)
    except (OSError, msgspec.MsgspecError):
        return None


def read_timeline(place: Path) -> list[Moment]:
    try:
        return list(_decode((place / TIMELINE).read_bytes().splitlines()))
    except OSError:
        return []


def _read_last(path: Path) -> Moment | None:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            moments = list(_decode(file.read().splitlines()[-1:]))
    except OSError:
        return None
    return moments[-1] if moments else None


def _decode(lines: Iterable[bytes]) -> Iterable[Moment]:
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Moment)
        except msgspec.MsgspecError:
            continue
