"""Everything that is in the simulated server now, and what ever was: what invariants look at."""

from collections.abc import Iterator
from typing import Any

from heliostat.kube.jsontree import JsonObject


class State:
    def __init__(self) -> None:
        self._objects: dict[str, dict[tuple[str, str], JsonObject]] = {}
        self._ever: dict[str, dict[str, JsonObject]] = {}  # by plural and UID, the last version of each
        self.created: dict[str, int] = {}  # by plural, over all time
        self._deleters: dict[str, dict[str, None]] = {}  # by plural
        self._specs: dict[str, dict[int, JsonObject]] = {}  # by UID and generation
        self.by = ""  # the program whose request is being carried out
        self.acting_on: dict[str, int] = {}  # by UID, the generation that a program last said it decided from
        self.reasons: dict[str, str] = {}  # by UID, why a program last decided to delete it
        self.led: set[str] = set()  # identities under which a leader has written
        self.beside: dict[str, Any] = {}  # what invariants know beyond the server, by name: a scripted Ray
        self.skew = 0.0  # seconds by which some program's clock has been wrong at most
        self.last: tuple[str, JsonObject, JsonObject | None] | None = None  # plural, after, before

    def apply(self, plural: str, tree: JsonObject, *, deleted: bool) -> None:
        metadata = tree["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        objects = self._objects.setdefault(plural, {})
        self.last = (plural, tree, objects.get(key))
        self._ever.setdefault(plural, {})[metadata["uid"]] = tree
        if "spec" in tree:
            self._specs.setdefault(metadata["uid"], {})[metadata.get("generation", 0)] = tree["spec"]
        if deleted:
            objects.pop(key, None)
            self._deleters.setdefault(plural, {})[self.by] = None
            return
        if key not in objects:
            self.created[plural] = self.created.get(plural, 0) + 1
        objects[key] = tree

    def all(self, plural: str) -> Iterator[JsonObject]:
        return iter(self._objects.get(plural, {}).values())

    def ever(self, plural: str) -> Iterator[JsonObject]:
        """Also what is gone, as it was last."""
        return iter(self._ever.get(plural, {}).values())

    def get(self, plural: str, namespace: str, name: str) -> JsonObject | None:
        return self._objects.get(plural, {}).get((namespace, name))

    def deleters(self, plural: str) -> list[str]:
        """Who has ever deleted one."""
        return list(self._deleters.get(plural, ()))

    def admissible_specs(self, tree: JsonObject) -> list[JsonObject]:
        """The specs that a controller may be acting on: none older than the one it said it has seen."""
        uid = tree["metadata"]["uid"]
        seen = max(tree.get("status", {}).get("observedGeneration", 0), self.acting_on.get(uid, 0))
        return [spec for generation, spec in self._specs[uid].items() if generation >= seen]

    def specs(self, tree: JsonObject) -> list[JsonObject]:
        """All that it ever had, the first one first."""
        return list(self._specs[tree["metadata"]["uid"]].values())

    def controlled_by(self, plural: str, uid: str) -> list[JsonObject]:
        return [
            tree
            for tree in self.all(plural)
            if any(o.get("controller") and o["uid"] == uid for o in tree["metadata"].get("ownerReferences", ()))
        ]

    def objects(self) -> dict[str, JsonObject]:
        return {
            f"{plural}/{namespace}/{name}": tree
            for plural, found in self._objects.items()
            for (namespace, name), tree in found.items()
        }
