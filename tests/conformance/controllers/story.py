"""Everything that happened in a scenario's namespace, seen through watches: what is there now and how it came to be."""

import asyncio
from typing import Any

import msgspec
from msgspec import Struct

from conformance.controllers.model import KINDS, Json, Pick, Scenario, value_at
from conformance.targets import Sent, Target, WatchReader

_HEADERS = {"Accept": "application/json", "User-Agent": "conformance/1"}
_LOOK_SECONDS = 0.05  # between two looks at the watches


class Version(Struct, frozen=True):
    kind: str
    tree: Json
    is_deleted: bool


class Story:
    """``versions`` has every version of every object in the order in which it was told."""

    def __init__(self, scenario: Scenario, target: Target) -> None:
        self.namespace = scenario.name
        self.versions: list[Version] = []
        self._target = target
        self._spelled_out = msgspec.json.encode(scenario).decode()  # with the names of its cluster-wide objects
        self._readers: dict[str, WatchReader] = {}
        self._revisions: dict[str, str] = {}
        self._current: dict[tuple[str, str], Json] = {}
        self._seen: set[tuple[str, str]] = set()
        self._grown_at = asyncio.get_running_loop().time()

    async def open(self) -> None:
        for name in KINDS:
            await self._open(name)

    async def close(self) -> None:
        for reader in self._readers.values():
            await reader.close()

    async def _open(self, name: str) -> None:
        kind = KINDS[name]
        query = {"watch": "true", "timeoutSeconds": "3000"}
        if self._revisions.get(name):
            query["resourceVersion"] = self._revisions[name]
        reply, reader = await self._target.watch(Sent("GET", kind.path(self.namespace), query, _HEADERS, b""))
        if reader is None:
            raise RuntimeError(f"{self._target.name}: no watch of {name}: {reply}")
        self._readers[name] = reader

    async def catch_up(self) -> None:
        """Read what the watches told; one that ended is opened again where it was."""
        for name, reader in list(self._readers.items()):
            events = reader.take()
            for event in events:
                self._note(name, event)
            if reader.ended and not events:
                await reader.close()
                await self._open(name)

    def _note(self, name: str, event: Json) -> None:
        tree = event["object"]
        if event["type"] in ("BOOKMARK", "ERROR") or not self._is_ours(name, tree):
            return
        metadata = tree["metadata"]
        version = (metadata["uid"], metadata["resourceVersion"])
        self._revisions[name] = metadata["resourceVersion"]
        if version in self._seen:
            return
        self._seen.add(version)
        self._grown_at = asyncio.get_running_loop().time()
        is_deleted = event["type"] == "DELETED"
        self.versions.append(Version(name, tree, is_deleted))
        if is_deleted:
            self._current.pop((name, metadata["uid"]), None)
        else:
            self._current[(name, metadata["uid"])] = tree

    def _is_ours(self, name: str, tree: Json) -> bool:
        if KINDS[name].is_namespaced:
            return True
        if name == "Namespace":
            return bool(tree["metadata"]["name"] == self.namespace)
        called = tree["metadata"]["name"].replace(self.namespace, "{ns}", 1)
        is_named = "{ns}" in called and f'"{called}"' in self._spelled_out
        return is_named or value_at(tree, "spec.claimRef.namespace") == self.namespace

    def current(self, kind: str) -> list[Any]:
        """What is there, in the order in which it was seen first."""
        return [tree for (name, _uid), tree in self._current.items() if name == kind]

    def picked(self, pick: Pick) -> list[Any]:
        found = [tree for tree in self.current(pick.kind) if _fits(tree, pick)]
        return found[: pick.at_most] if pick.at_most else found

    async def until(self, pick: Pick, count: int, seconds: float) -> bool:
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            await self.catch_up()
            if len(self.picked(pick)) == count:
                return True
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(_LOOK_SECONDS)

    async def until_seen(self, kind: str, revision: str, seconds: float) -> None:
        """Until the watch has told of a write that the server answered with this revision."""
        deadline = asyncio.get_running_loop().time() + seconds
        while int(self._revisions.get(kind, "0")) < int(revision) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.catch_up()

    async def until_quiet(self, quiet_seconds: float, at_most: float) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await self.catch_up()
        while loop.time() - max(self._grown_at, begun) < quiet_seconds and loop.time() - begun < at_most:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.catch_up()


def _fits(tree: Json, pick: Pick) -> bool:
    metadata = tree["metadata"]
    labels = metadata.get("labels") or {}
    if pick.name and metadata["name"] != pick.name:
        return False
    if any(labels.get(key) != value for key, value in pick.labels.items()):
        return False
    return all(_matches(value_at(tree, path), wanted) for path, wanted in pick.where.items())


def _matches(value: Json, wanted: Json) -> bool:
    return value is not None if wanted == "*" else bool(value == wanted)
