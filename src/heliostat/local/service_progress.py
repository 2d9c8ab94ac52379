"""How far a RayService is, for a person: its clusters side by side, with traffic, capacity and applications. Pure.

On a terminal both clusters are columns of a table that is written over; elsewhere each is a line of its own, written
again when it changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten

from msgspec import Struct

from heliostat.explain.explanation import format_columns
from heliostat.explain.rayservice.messages import find_message
from heliostat.kube.conditions import get_condition
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.pods import is_ready, is_terminating, view_pod, why_waiting
from heliostat.local.progress import find_failure, is_current
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.answers import RUNNING
from heliostat.plan.rayservice.observed import ACTIVE, PENDING

FAILED = ("DEPLOY_FAILED", "UNHEALTHY")
_ROLES = {ACTIVE: "active", PENDING: "pending"}
_WIDEST_NAME = 30  # two of them beside each other have to fit into 80 columns
_WIDEST_WORDS = 400


class Side(Struct, frozen=True, kw_only=True):
    """One cluster of a service; ``words`` are what its applications say beside their state, ``failure`` is about Pods
    that cannot be made.
    """

    role: str
    cluster: str
    traffic: int
    capacity: int
    ready_nodes: int
    nodes: int
    applications: Mapping[str, str]
    words: Mapping[str, str]
    pods: tuple[JsonObject, ...]
    failure: str = ""


class ServicePicture(Struct, frozen=True, kw_only=True):
    name: str
    state: str
    mark: str
    sides: tuple[Side, ...]


Applications = Mapping[str, Mapping[str, JsonObject]]  # by cluster and name, as a status shows them


def picture_service(
    service: JsonObject,
    clusters: Mapping[str, JsonObject],
    pods: Mapping[str, Sequence[JsonObject]],
    asked: Applications | None = None,
) -> ServicePicture:
    """``asked`` is what Serve itself told of clusters that the status says nothing about."""
    status = service.get("status") or {}
    slots = [(slot, status.get(slot) or {}) for slot in (ACTIVE, PENDING)]
    sides = [
        _side(slot, shown, status, clusters.get(shown["rayClusterName"]), pods, asked or {})
        for slot, shown in slots
        if shown.get("rayClusterName")
    ]
    is_about_now = is_current(service) or "observedGeneration" not in status  # who does not tell is believed
    mark, state = _judge(status, sides, is_current=is_about_now)
    return ServicePicture(name=service["metadata"]["name"], state=state, mark=mark, sides=tuple(sides))


def _side(
    slot: str,
    shown: JsonObject,
    status: JsonObject,
    cluster: JsonObject | None,
    pods: Mapping[str, Sequence[JsonObject]],
    asked: Applications,
) -> Side:
    name = shown["rayClusterName"]
    applications = shown.get("applicationStatuses") or asked.get(name) or {}
    own = tuple(pod for pod in pods.get(name, ()) if not is_terminating(view_pod(pod)))
    desired = ((cluster or {}).get("status") or {}).get("desiredWorkerReplicas") or 0
    serves = slot == ACTIVE and statuses.is_true(status, statuses.READY)
    return Side(
        role=_ROLES[slot],
        cluster=name,
        traffic=_percent(shown.get("trafficRoutedPercent"), 100 if serves else 0),
        capacity=_percent(shown.get("targetCapacity"), 100),
        ready_nodes=sum(is_ready(view_pod(pod)) for pod in own),
        nodes=1 + desired,
        applications={key: str(each.get("status") or "unknown") for key, each in sorted(applications.items())},
        words={key: _last_line(find_message(each)) for key, each in sorted(applications.items())},
        pods=own,
        failure=find_failure(cluster or {}),
    )


def _percent(told: object, otherwise: int) -> int:
    return told if isinstance(told, int) else otherwise


def _last_line(text: str) -> str:
    """Of a traceback the line that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return shorten(lines[-1], _WIDEST_WORDS, placeholder=" …") if lines else ""


def _judge(status: JsonObject, sides: Sequence[Side], *, is_current: bool) -> tuple[str, str]:
    """The mark, and what is said beside the name. A status of the spec before says nothing about the one of now."""
    number = status.get("numServeEndpoints") or 0
    answers = f"{number} Pod answers" if number == 1 else f"{number} Pods answer"
    if statuses.is_true(status, statuses.SUSPENDED):
        return "!", "is suspended"
    if statuses.is_true(status, statuses.ROLLBACK):
        return "…", f"goes back to {sides[0].cluster}; {answers}" if sides else "goes back"
    if statuses.is_true(status, statuses.UPGRADE):
        return "…", f"moves to {sides[-1].cluster}; {answers}" if sides else "moves"
    if statuses.is_true(status, statuses.READY):
        are_running = all(state == RUNNING for side in sides for state in side.applications.values())
        return ("✓" if are_running and is_current else "…"), f"ready, {answers} requests"
    reason = statuses.read_condition(status, statuses.READY)[1]
    if reason in ("", statuses.INITIALIZING):
        return "…", "starts"
    message = str((get_condition(status.get("conditions"), statuses.READY) or {}).get("message") or reason)
    return ("✗" if reason in ("ValidationFailed", statuses.TIMED_OUT) else "…"), f"{reason}: {message}"


def table_lines(picture: ServicePicture) -> tuple[str, ...]:
    """Clusters beside each other."""
    return (_headline(picture), *(f"  {line}" for line in _table(picture.sides)), *_troubles(picture.sides))


def plain_lines(picture: ServicePicture) -> tuple[str, ...]:
    """Each cluster in a line that tells all of it."""
    return (_headline(picture), *map(_side_line, picture.sides), *_troubles(picture.sides))


def _headline(picture: ServicePicture) -> str:
    return f"{picture.mark} RayService {picture.name}: {picture.state}"


def _table(sides: Sequence[Side]) -> Iterator[str]:
    if not sides:
        return
    applications = list(dict.fromkeys(name for side in sides for name in side.applications))
    rows = [
        ("", *(side.role for side in sides)),
        ("cluster", *(_short(side.cluster) for side in sides)),
        ("requests", *(f"{side.traffic} %" for side in sides)),
        ("capacity", *(f"{side.capacity} %" for side in sides)),
        ("Ray nodes", *(f"{side.ready_nodes} of {side.nodes} ready" for side in sides)),
        *((name, *(side.applications.get(name, "–") for side in sides)) for name in applications),
    ]
    yield from format_columns(rows)


def _short(name: str) -> str:
    """Its end tells clusters of one service apart."""
    return name if len(name) <= _WIDEST_NAME else f"…{name[1 - _WIDEST_NAME :]}"


def _side_line(side: Side) -> str:
    applications = ", ".join(f"{name} {state}" for name, state in side.applications.items()) or "no applications yet"
    is_whole = side.ready_nodes >= side.nodes and set(side.applications.values()) == {RUNNING}
    return (
        f"  {'✓' if is_whole else '…'} RayCluster {side.cluster} ({side.role}): {side.traffic} % of the requests,"
        f" capacity {side.capacity} %, {side.ready_nodes} of {side.nodes} Ray nodes ready; {applications}"
    )


def _troubles(sides: Sequence[Side]) -> Iterator[str]:
    for side in sides:
        if side.failure:
            yield f"  ! {side.cluster}: {side.failure}"
        for pod in map(view_pod, side.pods):
            waiting = why_waiting(pod)
            if waiting is not None:
                yield f"  … {pod.name}: {waiting[0]}: {waiting[1]}"
        for name, state in side.applications.items():
            if state in FAILED:
                yield f"  ✗ {name} on {side.cluster} is {state}: {side.words[name] or 'no reason is told'}"
            elif state != RUNNING and side.words[name]:
                yield f"  … {name} on {side.cluster} is {state}: {side.words[name]}"
