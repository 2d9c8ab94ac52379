"""What watches have told of a fleet, put in the one order of revisions, and the laws that hold at each of them.

For every RayCluster, by its UID, and every role in it (the head, a worker group, the head Service):
- never more are alive than were ever asked for at one time; what terminates is not alive;
- never more are made than all that was asked for in addition, one after the other: nothing ends here by itself, so
  whatever is made beyond that was made twice, or was deleted without need.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from fleet.lives import HEAD

Tree: TypeAlias = dict[str, Any]
Role: TypeAlias = tuple[str, str]  # the cluster's UID, and head, a group or SERVICE

SERVICE = "service"


class Seen(Struct, frozen=True):
    """One event of a watch."""

    revision: int
    is_gone: bool
    tree: Tree


def read_event(event: Tree) -> Seen:
    tree = event["object"]
    return Seen(int(tree["metadata"]["resourceVersion"]), event["type"] == "DELETED", tree)


def owner_of(tree: Tree) -> str:
    owners = tree["metadata"].get("ownerReferences", [])
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


def role_of_pod(tree: Tree) -> str:
    labels = tree["metadata"].get("labels", {})
    return HEAD if labels.get("ray.io/node-type") == HEAD else str(labels.get("ray.io/group", ""))


def wanted_by(cluster: Tree) -> dict[str, int]:
    spec = cluster["spec"]
    awake = not spec.get("suspend")
    groups = {group["groupName"]: group["replicas"] * awake for group in spec["workerGroupSpecs"]}
    return {HEAD: int(awake), SERVICE: 1, **groups}


def find_doubles(history: Iterable[Seen]) -> list[str]:
    ledger = _Ledger()
    return [sentence for seen in sorted(history, key=lambda seen: seen.revision) for sentence in ledger.enter(seen)]


class _Ledger:
    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._wanted: Counter[Role] = Counter()
        self._most: Counter[Role] = Counter()  # asked for at one time
        self._increases: Counter[Role] = Counter()  # the first demand is one
        self._made: defaultdict[Role, set[str]] = defaultdict(set)
        self._alive: defaultdict[Role, set[str]] = defaultdict(set)

    def enter(self, seen: Seen) -> Iterator[str]:
        if seen.tree["kind"] == "RayCluster":
            self._ask(seen.tree)
        elif owner_of(seen.tree):
            yield from self._count(seen)

    def _ask(self, cluster: Tree) -> None:
        uid = cluster["metadata"]["uid"]
        self._names[uid] = cluster["metadata"]["name"]
        for name, count in wanted_by(cluster).items():
            role = uid, name
            self._increases[role] += max(0, count - self._wanted[role])
            self._most[role] = max(self._most[role], count)
            self._wanted[role] = count

    def _count(self, seen: Seen) -> Iterator[str]:
        metadata = seen.tree["metadata"]
        role = owner_of(seen.tree), SERVICE if seen.tree["kind"] == "Service" else role_of_pod(seen.tree)
        is_new = metadata["uid"] not in self._made[role]
        self._made[role].add(metadata["uid"])
        if seen.is_gone or metadata.get("deletionTimestamp"):
            self._alive[role].discard(metadata["uid"])
        else:
            self._alive[role].add(metadata["uid"])
        if is_new:
            where = f"revision {seen.revision}: {self._names.get(role[0], 'a stranger')}, {role[1]}"
            yield from self._compare(role, f"{where}: {metadata['name']} was made")

    def _compare(self, role: Role, what: str) -> Iterator[str]:
        alive, made = len(self._alive[role]), len(self._made[role])
        if alive > self._most[role]:
            yield f"{what}, so {alive} are alive where at most {self._most[role]} were ever asked for"
        if made > self._increases[role]:
            yield f"{what}, the {made}th where {self._increases[role]} were asked for, one after the other"
