"""Create an object of any kind: read, completed, judged whole, and only then written.

A generated name that is taken is drawn again. A dry run goes the whole way except the write itself.
"""

import msgspec

from heliostat.embedded.kinds.cautions.by_kind import new_object_cautions
from heliostat.embedded.kinds.generations import COUNTING
from heliostat.embedded.server.changes.removal import Removal
from heliostat.embedded.server.changes.stored_form import build_encoder, encode_bounded
from heliostat.embedded.server.changes.validation import check_object
from heliostat.embedded.server.changes.writing import WriteOptions, WriteParts, Written
from heliostat.embedded.server.documents.object_reader import IGNORE
from heliostat.embedded.server.errors import RefusedError, already_exists
from heliostat.embedded.server.facts import facts_of
from heliostat.embedded.server.metadata import (
    check_absent_uid,
    check_name_of,
    check_namespace,
    drop_repeated_owners,
    prepare_new,
    read_version,
)
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.errors import AlreadyExistsError
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.records import Record
from heliostat.kube.jsontree import JsonObject, copy_tree

_BRING_STATUS = frozenset({"nodes"})  # whoever creates one says how it is
GENERATE_TRIES = 8


class Creation:
    def __init__(self, parts: WriteParts, removal: Removal) -> None:
        self._parts = parts
        self._removal = removal

    async def create(
        self, tree: JsonObject, resource: Resource, namespace: str, options: WriteOptions, *, name: str = ""
    ) -> Written:
        """``name``: of an update that creates what is not there; the version it names is then of no account."""
        self._read(tree, resource, options)
        check_namespace(tree, resource, namespace)
        if name:
            check_name_of(tree, name)
            key = Key(resource.storage_name, namespace, name)
            check_absent_uid(tree, key, resource, dry_run=options.dry_run)
        generated = not tree["metadata"].get("name")
        for attempt in range(GENERATE_TRIES if generated else 1):
            candidate = copy_tree(tree) if generated else tree
            try:
                return await self._create_once(candidate, resource, namespace, options, takes_version=bool(name))
            except AlreadyExistsError as error:
                if not generated or attempt == GENERATE_TRIES - 1:
                    raise _taken(error, resource) from None
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _read(self, tree: JsonObject, resource: Resource, options: WriteOptions) -> None:
        """A status that a new object brings is read, so that its mistakes are told, and forgotten."""
        if resource.has_status and tree.get("status") and resource.storage_name not in _BRING_STATUS:
            self._parts.read(copy_tree(tree), resource, options)
            del tree["status"]
            self._parts.reader.read(tree, resource, IGNORE)
        else:
            self._parts.read(tree, resource, options)

    async def _create_once(
        self, tree: JsonObject, resource: Resource, namespace: str, options: WriteOptions, *, takes_version: bool
    ) -> Written:
        version = read_version(tree)
        is_counting = resource.is_custom or resource.storage_name in COUNTING
        prepare_new(tree, self._parts.authority, tracks_generation=is_counting, keeps_owners=options.is_apply)
        options.warned.extend(drop_repeated_owners(tree))
        record = None
        try:
            await self._judge(tree, resource, options)
            key = Key(resource.storage_name, namespace, tree["metadata"]["name"])
            if options.dry_run:
                return self._try_out(key, tree, resource, version)
            if version and not takes_version:
                raise RefusedError(500, "", "resourceVersion should not be set on objects to be created")
            record = await self._write(key, tree, resource)
        finally:
            if record is None:
                self._parts.admission.abandon(tree, None, resource)
        await self._removal.tell(tree, resource)
        return Written(record.body, created=True)

    async def _judge(self, tree: JsonObject, resource: Resource, options: WriteOptions) -> None:
        await self._parts.admission.admit(tree, None, resource, "create")
        check_object(tree, None, resource)
        options.warned.extend(new_object_cautions(tree, resource.storage_name, is_custom=resource.is_custom))
        options.warned.extend(self._parts.admission.find_cautions(tree, resource))
        self._parts.check_rights(options.user, resource, tree, None)
        await self._parts.admission.charge(tree, None, resource, dry_run=options.dry_run)

    def _try_out(self, key: Key, tree: JsonObject, resource: Resource, version: int) -> Written:
        current = self._parts.store.get(key)
        if current is not None:
            raise AlreadyExistsError(key, current)
        if version:
            tree["metadata"]["resourceVersion"] = str(version)
        return Written(encode_bounded(tree, resource), created=True)

    async def _write(self, key: Key, tree: JsonObject, resource: Resource) -> Record:
        return await self._parts.store.create(key, facts_of(tree, resource), build_encoder(tree, resource))


def _taken(error: AlreadyExistsError, resource: Resource) -> RefusedError:
    refused = already_exists(resource.plural, resource.group, error.key.name)
    if error.current is not None and "deletionTimestamp" in msgspec.json.decode(error.current.body)["metadata"]:
        refused.message = f"object is being deleted: {refused.message}"
    return refused
