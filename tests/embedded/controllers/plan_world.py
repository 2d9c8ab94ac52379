"""A world that plans are carried out in: trees, one counter of versions, and caches that see every change at once.

It refuses what an API server refuses and a plan must not ask for: a patch or status from another version, a delete of
another UID, two creates of one name.
"""

from typing import Any

import msgspec

from heliostat.kube.jsontree import JsonObject, copy_tree, merge_patch
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Action, Create, Delete, Effect, Event, Patch, Plan, Ref, Replace, WriteStatus, ref_of
from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.cache import CachedKind, CacheWriter
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Reconciler

START = 1_700_000_000.0


class World:
    def __init__(self, *kinds: CachedKind[Any]) -> None:
        self.now = START
        self.caches = Caches()
        self.trees: dict[Ref, JsonObject] = {}
        self.events: list[Event] = []
        self.effects: list[Effect] = []
        self.ever_created: set[Ref] = set()
        self._version = 0
        self._kinds = {(kind.resource.api_version, kind.resource.kind): kind for kind in kinds}
        self._writers: dict[tuple[str, str], CacheWriter[Any]] = {
            place: CacheWriter(self.caches.of(kind)) for place, kind in self._kinds.items()
        }

    # What the world is made of.

    def add(self, tree: JsonObject) -> JsonObject:
        ref = ref_of(tree)
        assert ref not in self.trees, f"{ref} exists"
        self._version += 1
        tree = copy_tree(tree)
        metadata = tree["metadata"]
        metadata.setdefault("uid", f"uid-{self._version}")
        metadata.setdefault("creationTimestamp", format_timestamp(self.now))
        metadata.setdefault("generation", 1)
        if ref.kind == "Pod":
            tree.setdefault("status", {"phase": "Pending"})
        self._keep(ref, tree)
        return tree

    def change(self, ref: Ref, **changes: Any) -> None:
        self._update(ref, merge_patch(self.trees[ref], changes))

    def remove(self, ref: Ref) -> None:
        self._version += 1
        tree = self.trees.pop(ref)
        tree["metadata"]["resourceVersion"] = str(self._version)
        self._tell(ref, tree, gone=True)

    def of(self, kind: str) -> list[JsonObject]:
        return [tree for ref, tree in sorted(self.trees.items(), key=lambda item: item[0].name) if ref.kind == kind]

    def one(self, kind: str) -> JsonObject:
        (tree,) = self.of(kind)
        return tree

    # Carrying out.

    def reconcile(self, reconciler: Reconciler, key: Key) -> Plan:
        if reconciler.subject(key) is None:
            return Plan()
        plan = reconciler.plan(key, self.now)
        self.apply(plan)
        return plan

    def apply(self, plan: Plan) -> None:
        self.events.extend(plan.events)
        for action in plan.actions():
            self._carry_out(action)
            report = getattr(action, "report", None)
            if report is not None and report.success is not None:
                self.events.append(report.success)

    def _carry_out(self, action: Action) -> None:
        match action:
            case Create():
                assert action.ref not in self.ever_created or action.ref.kind != "Pod", f"{action.ref} is used twice"
                self.ever_created.add(action.ref)
                self.add(action.object)
            case Patch():
                self._check(action.ref, action.uid, action.resource_version)
                self._update(action.ref, merge_patch(self.trees[action.ref], action.changes))
            case Replace():
                self._update(action.ref, copy_tree(action.object))
            case Delete():
                self._check(action.ref, action.uid, action.resource_version)
                self.delete(action.ref, action.grace_seconds)
            case WriteStatus():
                self._check(action.ref, action.uid, action.resource_version)
                self._update(action.ref, {**self.trees[action.ref], "status": copy_tree(action.status)})
            case Effect():
                self.effects.append(action)

    def delete(self, ref: Ref, grace_seconds: int | None = None) -> None:
        """As the API does it: what has finalizers, or is a Pod on a node, first gets a deletion timestamp."""
        tree = self.trees[ref]
        is_running = ref.kind == "Pod" and tree["spec"].get("nodeName") and grace_seconds != 0
        if tree["metadata"].get("finalizers") or is_running:
            going = {
                "deletionTimestamp": format_timestamp(self.now),
                "deletionGracePeriodSeconds": 30 if is_running else 0,
            }
            self._update(ref, merge_patch(tree, {"metadata": going}))
        else:
            self.remove(ref)

    def _check(self, ref: Ref, uid: str, version: str) -> None:
        metadata = self.trees[ref]["metadata"]
        assert metadata["uid"] == uid, f"{ref} is another one"
        assert not version or metadata["resourceVersion"] == version, f"{ref} was decided from an older version"

    def _update(self, ref: Ref, tree: JsonObject) -> None:
        self._version += 1
        before = self.trees[ref]
        if before.get("spec") != tree.get("spec"):
            tree["metadata"]["generation"] = before["metadata"]["generation"] + 1
        metadata = tree["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers") and ref.kind != "Pod":
            self.trees[ref] = tree
            self.remove(ref)
        else:
            self._keep(ref, tree)

    def _keep(self, ref: Ref, tree: JsonObject) -> None:
        tree["metadata"]["resourceVersion"] = str(self._version)
        self.trees[ref] = tree
        self._tell(ref, tree, gone=False)

    def _tell(self, ref: Ref, tree: JsonObject, *, gone: bool) -> None:
        place = (ref.api_version, ref.kind)
        if place not in self._kinds:
            return
        item: Object = msgspec.convert(tree, self._kinds[place].shape)
        writer = self._writers[place]
        (writer.remove if gone else writer.put)(item)
