"""The life of a CustomResourceDefinition after it was written: its names, its serving, its end.

What kube-apiserver's own controllers do is done here by the write that gives occasion to it, before it is answered:
names that nobody else of the group has are accepted and the definition is established; one that is deleted takes its
objects with it, each when its finalizers let it go, and goes itself with the last of them, which frees its names.
"""

from contextlib import suppress
from typing import NotRequired, Protocol, TypedDict, cast

import msgspec

from heliostat.embedded.server.changes.delete_options import DeleteOptions
from heliostat.embedded.server.changes.stored_form import encode_stored
from heliostat.embedded.server.custom.custom_resources import (
    CLEANUP,
    accept_names,
    establish,
    is_established,
    resources_of,
    set_terminating,
)
from heliostat.embedded.server.errors import RefusedError
from heliostat.embedded.server.facts import facts_of
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.registry import Registry
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.errors import ConflictError, NotFoundError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Record
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject, encode_json

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_TRIES = 5


class _OutlineSpec(TypedDict):
    group: str
    names: JsonObject


class _Outline(TypedDict):
    """A definition without its schemas, which are nearly all of it and are of no concern here."""

    metadata: JsonObject
    spec: _OutlineSpec
    status: NotRequired[JsonObject]


_outline_decoder = msgspec.json.Decoder(_Outline)


class DeleteObject(Protocol):
    """Deletes one object as for a client, finalizers and all."""

    async def __call__(self, resource: Resource, namespace: str, name: str, options: DeleteOptions) -> object: ...


class Definitions:
    def __init__(self, store: Store, registry: Registry, authority: Authority, definition: Resource) -> None:
        self._store = store
        self._registry = registry
        self._authority = authority
        self._definition = definition
        self._ending: set[str] = set()  # whose objects are being deleted just now

    async def follow(self, tree: JsonObject, resource: Resource, delete: DeleteObject, *, deleted: bool) -> None:
        """What a write of a definition, or the end of one of its objects, gives occasion to."""
        if resource.storage_name == CRDS:
            name = tree["metadata"]["name"]
            if not deleted:
                await self.settle(name, delete, tree)
            group = name.partition(".")[2]
            for record in self._store.page(Scope(CRDS)).records:
                if record.key.name != name and record.key.name.partition(".")[2] == group:
                    await self.settle(record.key.name, delete)
        elif resource.is_custom and deleted:
            await self.settle(resource.storage_name, delete)

    async def settle(self, name: str, delete: DeleteObject, written: JsonObject | None = None) -> None:
        """Bring a definition as far as it can go now.

        ``written`` is the definition as somebody has just written it: taken apart a second time it would be 3 MB more.
        """
        for _ in range(_TRIES):
            record = self._store.get(Key(CRDS, "", name))
            if record is None or name in self._ending:
                return
            if self._is_settled(_outline(record)):
                return
            crd = written if written is not None and _is_version(written, record) else _decode(record)
            try:
                if "deletionTimestamp" in crd["metadata"]:
                    if CLEANUP in crd["metadata"].get("finalizers", ()):
                        await self._end(record, crd, delete)
                else:
                    await self._establish(record, crd)
            except (ConflictError, NotFoundError):
                continue  # somebody else wrote it meanwhile
            return

    def _is_settled(self, outline: JsonObject) -> bool:
        """Asked of every definition of a group whenever one of them changes, so it does not take a schema apart."""
        if "deletionTimestamp" in outline["metadata"]:
            return CLEANUP not in outline["metadata"].get("finalizers", ())
        others, now = self._others(outline["metadata"]["name"]), self._authority.now()
        return all(decide(outline, others, now) == outline.get("status") for decide in (accept_names, establish))

    async def _establish(self, record: Record, crd: JsonObject) -> None:
        """First the names, then, once they are accepted, the serving."""
        others = self._others(record.key.name)
        for decide in (accept_names, establish):
            status = decide(crd, others, self._authority.now())
            if status != crd.get("status"):
                crd = {**crd, "status": status}
                record = await self._put(record, crd)

    async def _end(self, record: Record, crd: JsonObject, delete: DeleteObject) -> None:
        name, now = record.key.name, self._authority.now()
        if is_established(crd):
            started = set_terminating(crd, "InstanceDeletionInProgress", now)
            if started != crd:
                record = await self._put(record, started)
                crd = started
            await self._delete_objects(name, crd, delete)
            if self._store.count(Scope(name)):
                return
            finished = set_terminating(crd, "InstanceDeletionCompleted", now)
        else:
            finished = set_terminating(crd, "NeverEstablished", now)
        left = [each for each in crd["metadata"]["finalizers"] if each != CLEANUP]
        if left:
            await self._put(record, {**finished, "metadata": {**finished["metadata"], "finalizers": left}})
            return
        await self._store.delete(record.key, _last_body, expected=record.revision)
        self._registry.forget_custom(name)

    async def _delete_objects(self, name: str, crd: JsonObject, delete: DeleteObject) -> None:
        self._ending.add(name)
        try:
            resource = next(iter(resources_of(crd)))
            for record in self._store.page(Scope(name)).records:
                with suppress(RefusedError):  # gone already, or not to be had now: the next occasion comes
                    await delete(resource, record.key.namespace, record.key.name, DeleteOptions())
        finally:
            self._ending.discard(name)

    async def _put(self, record: Record, crd: JsonObject) -> Record:
        def encode(revision: int) -> bytes:
            crd["metadata"] = {**crd["metadata"], "resourceVersion": str(revision)}
            return encode_stored(crd, self._definition)

        facts = facts_of(crd, self._definition)
        written = await self._store.update(record.key, facts, encode, expected=record.revision)
        self.serve(crd)
        return written

    def serve(self, crd: JsonObject) -> None:
        name = crd["metadata"]["name"]
        if is_established(crd):
            self._registry.serve_custom(name, resources_of(crd))
        else:
            self._registry.forget_custom(name)

    def _others(self, name: str) -> list[JsonObject]:
        return [_outline(record) for record in self._store.page(Scope(CRDS)).records if record.key.name != name]


def _is_version(tree: JsonObject, record: Record) -> bool:
    return bool(tree["metadata"].get("resourceVersion") == str(record.revision))


def _decode(record: Record) -> JsonObject:
    tree: JsonObject = msgspec.json.decode(record.body)
    return tree


def _outline(record: Record) -> JsonObject:
    return cast("JsonObject", _outline_decoder.decode(record.body))


def _last_body(revision: int, record: Record) -> bytes:
    tree = msgspec.json.decode(record.body)
    tree["metadata"]["resourceVersion"] = str(revision)
    return encode_json(tree)
