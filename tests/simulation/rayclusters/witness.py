"""Stands between one life of the operator and the server, and remembers what was answered.

C5: every delete names a UID, every change a UID and a resourceVersion. C14: no cluster is written to without end.
What was answered is what the next decision must have seen: ``Overseer`` asks for it.
"""

from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.transport import Call, Chunks, Reply, Transport
from heliostat.testing.simulation.connection import Connection
from heliostat.testing.simulation.service_proxy import PROXY
from heliostat.testing.simulation.world import World, resource_of
from simulation.rayclusters.reading import controller_uid, uid_of

MOST_WRITES = 30  # of one RayCluster and its lasting objects, in one minute, by all lives together
MOST_ATTEMPTS = 120  # also at its Pods, and such as are refused: an autoscaler may keep an operator busy
UNSEEN = ("events", "leases", PROXY)  # written, and never decided from: of Ray, facts tell


class Answered(Struct, frozen=True):
    """A write that the server has confirmed: the version it has made, or the UID that it has removed."""

    plural: str
    name: str
    revision: int = 0
    gone: str = ""


class Diary(Struct):
    """What was answered to any life of the operator, and what they have written when; by the RayCluster's UID."""

    answered: dict[str, list[Answered]] = {}
    writes: dict[str, list[float]] = {}
    attempts: dict[str, list[float]] = {}


class Witness:
    """``forbidden``: creating one of these is refused, as where a right is missing."""

    def __init__(self, world: World, connection: Connection, forbidden: Callable[[], str], diary: Diary) -> None:
        self._world = world
        self._connection: Transport = connection
        self._forbidden = forbidden
        self._diary = diary

    async def send(self, call: Call, seconds: float) -> Reply:
        if not call.is_write:
            return await self._connection.send(call, seconds)
        plural = resource_of(call.path)
        if plural not in UNSEEN:
            self._check(call)
        target = self._target(call, plural)
        if plural not in UNSEEN:
            self._count(_owner_of(call, plural, target), self._diary.attempts, MOST_ATTEMPTS)
        if call.method == "POST" and plural == self._forbidden():
            return Reply(403, b'{"kind":"Status","reason":"Forbidden","message":"no right to do so","code":403}')
        reply = await self._connection.send(call, seconds)
        if reply.status < 300 and plural not in UNSEEN:
            self._note(call, plural, target, reply)
        return reply

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self._connection.open(call, seconds)

    async def close(self) -> None:
        await self._connection.close()

    def answered(self, cluster_uid: str) -> Iterator[Answered]:
        return iter(self._diary.answered.get(cluster_uid, ()))

    def _check(self, call: Call) -> None:
        problem = find_blind_write(call)
        if problem is not None:
            self._world.report(f"C5: {call}: {problem}")

    def _target(self, call: Call, plural: str) -> JsonObject | None:
        """What a write is about to hit: the answer to a delete need not say whose it was."""
        namespace, name = _place(call.path)
        return self._world.state.get(plural, namespace, name)

    def _note(self, call: Call, plural: str, target: JsonObject | None, reply: Reply) -> None:
        if call.method == "DELETE":
            if target is not None:
                gone = msgspec.json.decode(call.body).get("preconditions", {}).get("uid", "")
                self._add(controller_uid(target), Answered(plural, target["metadata"]["name"], gone=gone))
            return
        tree = msgspec.json.decode(reply.body)
        owner = uid_of(tree) if plural == "rayclusters" else controller_uid(tree)
        metadata = tree["metadata"]
        if plural == "rayclusters" and "spec" in msgspec.json.decode(call.body):
            return  # what a RayJob wants of its cluster is news for who makes the cluster, as an edit of a user's is
        self._add(owner, Answered(plural, metadata["name"], revision=int(metadata["resourceVersion"])))
        if plural not in ("pods", "rayjobs"):  # as many as were asked for, and a clock that is wrong asks for an hour's
            self._count(owner, self._diary.writes, MOST_WRITES)

    def _add(self, owner: str, answered: Answered) -> None:
        self._diary.answered.setdefault(owner, []).append(answered)

    def _count(self, owner: str, times: dict[str, list[float]], most: int) -> None:
        now = self._world.time()
        recent = [time for time in times.get(owner, ()) if time > now - 60.0]
        times[owner] = [*recent, now]
        if owner and len(recent) >= most:
            self._world.report(f"C14: more than {most} writes for one RayCluster within a minute")


def _owner_of(call: Call, plural: str, target: JsonObject | None) -> str:
    """The RayCluster that a write is for."""
    if call.method == "POST":
        return controller_uid(msgspec.json.decode(call.body))
    if target is None:
        return ""
    return uid_of(target) if plural == "rayclusters" else controller_uid(target)


def find_blind_write(call: Call) -> str | None:
    if call.method == "POST":
        return None
    body = msgspec.json.decode(call.body)
    if call.method == "DELETE":
        return None if body.get("preconditions", {}).get("uid") else "a delete that names no UID"
    if isinstance(body, list):
        named = {operation["path"] for operation in body}
        is_named = {"/metadata/uid", "/metadata/resourceVersion"} <= named
    else:
        metadata = body.get("metadata", {})
        is_named = bool(metadata.get("uid")) and bool(metadata.get("resourceVersion"))
    return None if is_named else "a change that names no UID and resourceVersion"


def _place(path: str) -> tuple[str, str]:
    """Namespace and name; all requests of the operator are of namespaced kinds."""
    namespace, _plural, name = [*path.partition("/namespaces/")[2].split("/"), ""][:3]
    return namespace, name
