"""Who owns whom, over every resource: the graph that decisions about garbage are made from.

Rules: a node is an object that some watch has shown; an edge is an owner reference, and it is by UID. The graph has one
writer, the caches it is fed from. That an owner is not in it does not mean that it is gone: watches of different
resources overtake each other. Only the server can tell, by a watch that saw it go or by a read that did not find it,
and what it told is kept with the graph: a UID that is gone never comes back.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.kube.objects import Key, Metadata, OwnerReference
from heliostat.kube.resource_types import ResourceType

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
NOTES = 1024  # about absent owners, before those that nobody needs are looked for


class Node(Struct, frozen=True):
    """One object, wherever it lives."""

    resource: ResourceType
    metadata: Metadata

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name, str(self.resource))

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def is_waiting(self) -> bool:
        """Deleted in the foreground: it stays until what it owns is gone."""
        return self.metadata.is_terminating and FOREGROUND in self.metadata.finalizers

    @property
    def is_orphaning(self) -> bool:
        """Deleted without what it owns: it stays until nothing names it any more."""
        return self.metadata.is_terminating and ORPHAN in self.metadata.finalizers

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.metadata.key}"


class Graph:
    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._by_key: dict[Key, Node] = {}
        self._dependents: dict[str, dict[str, None]] = {}  # owner UID → UIDs, in the order they came
        self._absent: dict[tuple[str, str], None] = {}  # (owner UID, namespace it was looked for in)
        self._forget_at = NOTES

    def node(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def at(self, key: Key) -> Node | None:
        return self._by_key.get(key)

    def dependents(self, uid: str) -> list[Node]:
        return [self._nodes[dependent] for dependent in self._dependents.get(uid, ())]

    def put(self, node: Node) -> list[Key]:
        """Returns whom the change concerns: the object, its owners, and what it owns."""
        before = self._by_key.get(node.key)
        concerned = self._drop(before) if before is not None else {}
        self._nodes[node.uid] = node
        self._by_key[node.key] = node
        for owner in _owner_uids(node):
            self._dependents.setdefault(owner, {})[node.uid] = None
        concerned.update(self._concerned(node))
        return list(concerned)

    def remove(self, key: Key, *, is_certain: bool = True) -> list[Key]:
        """A watch saw it go; not certain when the server itself went back to an older state."""
        node = self._by_key.get(key)
        if node is None:
            return []
        for dependent in self.dependents(node.uid) if is_certain else ():
            self.note_absent(node.uid, dependent.metadata.namespace)
        return list(self._drop(node))

    def is_known_absent(self, owner: OwnerReference, namespace: str) -> bool:
        return (owner.uid, namespace) in self._absent

    def note_absent(self, uid: str, namespace: str) -> None:
        """The server has no such UID where a reference from ``namespace`` says it is."""
        self._absent[(uid, namespace)] = None
        if len(self._absent) > self._forget_at:
            self.forget_absent()
            self._forget_at = max(NOTES, 2 * len(self._absent))

    def forget_absent(self) -> None:
        """Keeps the notes that something in the graph still needs."""
        wanted = {(uid, node.metadata.namespace) for node in self._nodes.values() for uid in _owner_uids(node)}
        self._absent = {note: None for note in self._absent if note in wanted}

    def _drop(self, node: Node) -> dict[Key, None]:
        concerned = self._concerned(node)
        self._nodes.pop(node.uid, None)
        self._by_key.pop(node.key, None)
        for owner in _owner_uids(node):
            dependents = self._dependents.get(owner)
            if dependents is not None:
                dependents.pop(node.uid, None)
                if not dependents:
                    del self._dependents[owner]
        return concerned

    def _concerned(self, node: Node) -> dict[Key, None]:
        owners = (self._nodes[uid].key for uid in _owner_uids(node) if uid in self._nodes)
        owned = (dependent.key for dependent in self.dependents(node.uid))
        return dict.fromkeys((node.key, *owners, *owned))


def _owner_uids(node: Node) -> Iterable[str]:
    return dict.fromkeys(owner.uid for owner in node.metadata.owner_references)
