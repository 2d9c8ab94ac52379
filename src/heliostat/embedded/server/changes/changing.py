"""Change an object of any kind, by an update or a patch.

Rules: status and the rest are written through different doors; a change that changes nothing writes nothing; one that
does not name a version is tried again when somebody else was faster; one that takes off the last finalizer of an object
that is going away removes it. A dry run goes the whole way except the write itself.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from heliostat.embedded.kinds.cautions.by_kind import changed_object_cautions
from heliostat.embedded.kinds.generations import counts_empty_parts
from heliostat.embedded.kinds.registry import rules_of
from heliostat.embedded.kinds.workloads.update_policies import MADE_BY_UPDATE, NEEDING_A_VERSION
from heliostat.embedded.server.changes.creation import Creation
from heliostat.embedded.server.changes.deletion import has_content_to_go
from heliostat.embedded.server.changes.removal import Removal
from heliostat.embedded.server.changes.stored_form import build_encoder, encode_bounded, encode_stored, is_same
from heliostat.embedded.server.changes.validation import check_object
from heliostat.embedded.server.changes.writing import TRIES, WriteOptions, WriteParts, Written
from heliostat.embedded.server.documents.conversions import to_served
from heliostat.embedded.server.errors import MODIFIED, Cause, conflict, invalid
from heliostat.embedded.server.facts import facts_of
from heliostat.embedded.server.front.doors import merge_doors
from heliostat.embedded.server.metadata import (
    carry_over,
    check_name_of,
    check_namespace,
    check_uid,
    drop_repeated_owners,
    is_deleted_now,
    raise_generation,
    read_version,
)
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.errors import ConflictError, NotFoundError
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.records import Record
from heliostat.kube.jsontree import JsonObject, copy_tree

_RAISING = ("", "scale", "resize", "ephemeralcontainers")  # doors through which a spec can change

Change: TypeAlias = Callable[[JsonObject], JsonObject]
_Build: TypeAlias = Callable[[Record, JsonObject], tuple[JsonObject, bool]]  # the new object; has it empty parts


class Changing:
    def __init__(self, parts: WriteParts, removal: Removal, creation: Creation) -> None:
        self._parts = parts
        self._removal = removal
        self._creation = creation

    async def update(
        self, tree: JsonObject, resource: Resource, namespace: str, name: str, options: WriteOptions
    ) -> Written:
        """Replace by the client's object, which may name the version it was made from."""
        is_there = self._parts.store.get(Key(resource.storage_name, namespace, name)) is not None
        if not is_there and resource.storage_name in MADE_BY_UPDATE and not options.subresource:
            return await self._creation.create(tree, resource, namespace, options, name=name)
        has_empty = counts_empty_parts(tree, resource.storage_name)
        self._parts.read(tree, resource, options)
        check_namespace(tree, resource, namespace)
        check_name_of(tree, name)
        given = read_version(tree) if is_there else 0

        def replace(record: Record, old: JsonObject) -> tuple[JsonObject, bool]:
            check_uid(tree, old, record, resource, dry_run=options.dry_run)
            if is_there and not given:
                _check_version_not_needed(resource, name)
            return copy_tree(tree), has_empty

        return await self._change(resource, namespace, name, replace, options, is_expected=bool(given))

    async def change(
        self, resource: Resource, namespace: str, name: str, change: Change, options: WriteOptions
    ) -> Written:
        """Write ``change(old)``; unless it names a version it is tried again when somebody else was faster."""

        def patch(_record: Record, old: JsonObject) -> tuple[JsonObject, bool]:
            new: JsonObject = copy_tree(change(to_served(copy_tree(old), resource)))
            has_empty = counts_empty_parts(new, resource.storage_name)
            self._parts.read(new, resource, options)
            check_name_of(new, name)
            check_namespace(new, resource, namespace)
            return new, has_empty

        return await self._change(resource, namespace, name, patch, options)

    async def _change(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        build: _Build,
        options: WriteOptions,
        *,
        is_expected: bool = False,
    ) -> Written:
        told = tuple(options.warned)
        for attempt in range(TRIES):
            record = self._parts.find(resource, namespace, name)
            options.warned.restart(told)
            old: JsonObject = msgspec.json.decode(record.body)
            new, has_empty = build(record, old)
            try:
                return await self._replace(record, old, new, resource, options, has_empty=has_empty)
            except (ConflictError, NotFoundError):
                if is_expected or attempt == TRIES - 1:
                    raise conflict(resource.plural, resource.group, name, MODIFIED) from None
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _replace(
        self,
        record: Record,
        old: JsonObject,
        new: JsonObject,
        resource: Resource,
        options: WriteOptions,
        *,
        has_empty: bool,
    ) -> Written:
        new = _merge(record, old, new, resource, options)
        is_written = False
        try:
            await self._parts.admission.admit(new, old, resource, "update")
            new = self._judge(old, new, resource, options, has_empty=has_empty)
            await self._parts.admission.charge(new, old, resource, dry_run=options.dry_run)
            written = await self._put(record, old, new, resource, options)
            is_written = True
        finally:
            if not is_written or options.dry_run:
                self._parts.admission.abandon(new, old, resource)
        return written

    def _judge(
        self, old: JsonObject, new: JsonObject, resource: Resource, options: WriteOptions, *, has_empty: bool
    ) -> JsonObject:
        """The new object as it is to be written; raises RefusedError."""
        check_object(new, old, resource, options.subresource)
        self._parts.check_rights(options.user, resource, new, old)
        if options.subresource in _RAISING:
            raise_generation(new, old, is_custom=resource.is_custom, is_changed=has_empty)
        told = (new, old, resource.storage_name, options.subresource)
        options.warned.extend(changed_object_cautions(*told, is_custom=resource.is_custom))
        if options.subresource:
            options.warned.extend(self._parts.admission.find_cautions(new, resource, options.subresource))
        if options.is_apply:
            return new
        return self._parts.tracking.track(old, new, resource, options.subresource, options.manager)

    async def _put(
        self, record: Record, old: JsonObject, new: JsonObject, resource: Resource, options: WriteOptions
    ) -> Written:
        if is_same(new, old):
            return Written(record.body)
        if is_deleted_now(new) and not has_content_to_go(new, resource) and not options.dry_run:
            await self._removal.remove(record, resource)
            new["metadata"]["resourceVersion"] = str(record.revision)  # the client sees the version it has replaced
            return Written(encode_stored(new, resource), deleted=True)
        if options.dry_run:
            new["metadata"]["resourceVersion"] = str(record.revision)
            return Written(encode_bounded(new, resource))
        written = await self._parts.store.update(
            record.key, facts_of(new, resource), build_encoder(new, resource), expected=record.revision
        )
        await self._removal.tell(new, resource)
        return Written(written.body)


def _check_version_not_needed(resource: Resource, name: str) -> None:
    if resource.is_custom or resource.storage_name in NEEDING_A_VERSION:
        why = "Invalid value: 0: must be specified for an update"
        cause = Cause("FieldValueInvalid", why, "metadata.resourceVersion")
        raise invalid(resource.plural, resource.group, name, [cause])


def _merge(record: Record, old: JsonObject, new: JsonObject, resource: Resource, options: WriteOptions) -> JsonObject:
    """The new object with all that the client cannot change or has left out."""
    if read_version(new) not in (0, record.revision):
        raise conflict(resource.plural, resource.group, record.key.name, MODIFIED)
    new["metadata"].pop("resourceVersion", None)
    new = merge_doors(new, old, resource, options.subresource)
    carry_over(new, old)
    options.warned.extend(drop_repeated_owners(new))
    keep = rules_of(resource.storage_name).keep
    if keep is not None and not options.subresource:
        keep(new, old)
    return new
