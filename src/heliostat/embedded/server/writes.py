"""Create, update, patch and delete, for every kind alike.

Rules: an object is judged whole (shape, names, admission) before it is written; an update that changes nothing
writes nothing; status and the rest are written through different doors; a patch is tried again on a newer version
unless it names one. A dry run goes the whole way except the write itself.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Struct, field

from heliostat.embedded.access.users import User
from heliostat.embedded.kinds.generations import COUNTING
from heliostat.embedded.kinds.narrow_doors import door_of
from heliostat.embedded.kinds.registry import rules_of
from heliostat.embedded.server.deletion import DeleteOptions, check_preconditions, mark_deleted
from heliostat.embedded.server.errors import MODIFIED, Cause, RefusedError, already_exists, conflict, invalid, not_found
from heliostat.embedded.server.events_conversion import to_served
from heliostat.embedded.server.facts import facts_of
from heliostat.embedded.server.field_tracking import FieldTracking
from heliostat.embedded.server.metadata import (
    Authority,
    carry_over,
    check_name_of,
    check_namespace,
    conflicting_uid,
    drop_repeated_owners,
    is_deleted_now,
    own_metadata,
    prepare_new,
    raise_generation,
)
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.validation import check_object, check_readable, fit_to_kind
from heliostat.embedded.storage.errors import AlreadyExistsError, ConflictError, NotFoundError
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.records import Record
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject, copy_tree, encode_json

# An update of one that is not there creates it.
_MADE_BY_UPDATE = frozenset(
    {
        "clusterrolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "endpoints",
        "events",
        "leases.coordination.k8s.io",
        "limitranges",
        "rolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
    }
)
_BRING_STATUS = frozenset({"nodes"})  # whoever creates one says how it is
_RAISING = ("", "scale", "resize", "ephemeralcontainers")  # doors through which a spec can change
PATCH_TRIES = 5
GENERATE_TRIES = 8

Change: TypeAlias = Callable[[JsonObject], JsonObject]


class AfterWrite(Protocol):
    """Is told of every write once it is done."""

    def __call__(self, tree: JsonObject, resource: Resource, *, deleted: bool) -> None: ...


class Guard(Protocol):
    """Refuses what a user must not write although the verb is allowed: rights the user does not have."""

    def __call__(self, user: User, resource: Resource, new: JsonObject, old: JsonObject | None) -> None: ...


class Admission(Protocol):
    """Who may complete or refuse an object on its way, and hears how it ended."""

    async def admit(self, new: JsonObject, old: JsonObject | None, resource: Resource, verb: str) -> None:
        """Before the object is judged: may change the new one."""

    async def charge(self, new: JsonObject, old: JsonObject | None, resource: Resource, *, dry_run: bool) -> None:
        """After it was judged, right before the write: may only refuse."""

    def abandon(self, new: JsonObject, old: JsonObject | None, resource: Resource) -> None:
        """The write came to nothing, or was only tried out."""


class WriteOptions(Struct, frozen=True, kw_only=True):
    dry_run: bool = False
    field_validation: str = "Warn"
    subresource: str = ""
    manager: str = ""  # whom the written fields belong to
    is_apply: bool = False  # the object comes with its owners worked out
    user: User | None = None  # None: the server itself
    warned: list[str] = field(default_factory=list)  # what the client is told, also when the write is refused


class Written(Struct, frozen=True):
    """What was (or, dry, would be) written. ``deleted``: the write completed a deletion."""

    body: bytes
    created: bool = False
    deleted: bool = False


def _taken(error: AlreadyExistsError, resource: Resource) -> RefusedError:
    refused = already_exists(resource.plural, resource.group, error.key.name)
    if error.current is not None and "deletionTimestamp" in msgspec.json.decode(error.current.body)["metadata"]:
        refused.message = f"object is being deleted: {refused.message}"
    return refused


class Writer:
    def __init__(
        self,
        store: Store,
        authority: Authority,
        admission: Admission,
        after: AfterWrite,
        tracking: FieldTracking,
        guard: Guard | None = None,
    ) -> None:
        self._store = store
        self._authority = authority
        self._admission = admission
        self._after = after
        self._tracking = tracking
        self._guard = guard

    async def create(self, tree: JsonObject, resource: Resource, namespace: str, options: WriteOptions) -> Written:
        check_readable(tree, resource)
        check_namespace(tree, resource, namespace)
        generated = not tree["metadata"].get("name")
        for attempt in range(GENERATE_TRIES if generated else 1):
            candidate = copy_tree(tree) if generated else tree
            try:
                return await self._create_once(candidate, resource, namespace, options)
            except AlreadyExistsError as error:
                if not generated or attempt == GENERATE_TRIES - 1:
                    raise _taken(error, resource) from None
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _create_once(
        self, tree: JsonObject, resource: Resource, namespace: str, options: WriteOptions
    ) -> Written:
        prepare_new(tree, self._authority, tracks_generation=tracks_generation(resource), keeps_owners=options.is_apply)
        if resource.has_status and resource.storage_name not in _BRING_STATUS:
            tree.pop("status", None)
        options.warned[:] = drop_repeated_owners(tree)
        fit_to_kind(tree, resource, options.field_validation, options.warned)
        is_written = False
        try:
            await self._admission.admit(tree, None, resource, "create")
            check_object(tree, None, resource)
            self._check_rights(options.user, resource, tree, None)
            await self._admission.charge(tree, None, resource, dry_run=options.dry_run)
            key = Key(resource.storage_name, namespace, tree["metadata"]["name"])
            if options.dry_run:
                if self._store.get(key) is not None:
                    raise already_exists(resource.plural, resource.group, key.name)
                return Written(encode_stored(tree, resource), created=True)
            record = await self._store.create(key, facts_of(tree, resource), _encoder(tree, resource))
            is_written = True
        finally:
            if not is_written:
                self._admission.abandon(tree, None, resource)
        self._after(tree, resource, deleted=False)
        return Written(record.body, created=True)

    async def update(
        self, tree: JsonObject, resource: Resource, namespace: str, name: str, options: WriteOptions
    ) -> Written:
        """Replace by the client's object, which may name the version it was made from."""
        check_readable(tree, resource)
        check_namespace(tree, resource, namespace)
        check_name_of(tree, name)
        given = tree["metadata"].get("resourceVersion") or ""
        if not given and resource.is_custom:
            cause = Cause(
                "FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion"
            )
            raise invalid(resource.plural, resource.group, name, [cause])
        if (
            resource.storage_name in _MADE_BY_UPDATE
            and self._store.get(Key(resource.storage_name, namespace, name)) is None
        ):
            return await self.create(tree, resource, namespace, options)
        return await self.change(resource, namespace, name, lambda _old: tree, options, given)

    async def change(
        self, resource: Resource, namespace: str, name: str, change: Change, options: WriteOptions, expected: str = ""
    ) -> Written:
        """Write ``change(old)``; without an expected version it is tried again when somebody else was faster."""
        for attempt in range(PATCH_TRIES):
            record = self._find(resource, namespace, name)
            if expected and expected != str(record.revision):
                raise conflict(resource.plural, resource.group, name, MODIFIED)
            old: JsonObject = msgspec.json.decode(record.body)
            try:
                new = copy_tree(change(to_served(copy_tree(old), resource)))
                return await self._replace(record, old, new, resource, options)
            except (ConflictError, NotFoundError):
                if expected or attempt == PATCH_TRIES - 1:
                    raise conflict(resource.plural, resource.group, name, MODIFIED) from None
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _replace(
        self, record: Record, old: JsonObject, new: JsonObject, resource: Resource, options: WriteOptions
    ) -> Written:
        name = record.key.name
        own_metadata(new).setdefault("name", name)
        if record.key.namespace:
            new["metadata"].setdefault("namespace", record.key.namespace)
        given_uid = new["metadata"].get("uid")
        if given_uid and given_uid != old["metadata"]["uid"]:
            raise conflicting_uid(resource, name, given_uid, old["metadata"]["uid"])
        given_version = new["metadata"].pop("resourceVersion", None)
        if given_version and given_version != str(record.revision):
            raise conflict(resource.plural, resource.group, name, MODIFIED)
        new = merge_doors(new, old, resource, options.subresource)
        carry_over(new, old)
        options.warned[:] = drop_repeated_owners(new)
        fit_to_kind(new, resource, options.field_validation, options.warned)
        keep = rules_of(resource.storage_name).keep
        if keep is not None and not options.subresource:
            keep(new, old)
        is_written = False
        try:
            await self._admission.admit(new, old, resource, "update")
            check_object(new, old, resource, options.subresource)
            self._check_rights(options.user, resource, new, old)
            if options.subresource in _RAISING:
                raise_generation(new, old, is_custom=resource.is_custom)
            if not options.is_apply:
                new = self._tracking.track(old, new, resource, options.subresource, options.manager)
            await self._admission.charge(new, old, resource, dry_run=options.dry_run)
            written = await self._put(record, old, new, resource, options)
            is_written = True
        finally:
            if not is_written or options.dry_run:
                self._admission.abandon(new, old, resource)
        return written

    async def _put(
        self, record: Record, old: JsonObject, new: JsonObject, resource: Resource, options: WriteOptions
    ) -> Written:
        if _is_same(new, old):
            return Written(record.body)
        if is_deleted_now(new) and not options.dry_run:
            await self._remove(record, new, resource)
            new["metadata"]["resourceVersion"] = str(record.revision)  # the client sees the version it has replaced
            return Written(encode_stored(new, resource), deleted=True)
        if options.dry_run:
            new["metadata"]["resourceVersion"] = str(record.revision)
            return Written(encode_stored(new, resource))
        written = await self._store.update(
            record.key, facts_of(new, resource), _encoder(new, resource), expected=record.revision
        )
        self._after(new, resource, deleted=False)
        return Written(written.body)

    async def delete(self, resource: Resource, namespace: str, name: str, options: DeleteOptions) -> Written:
        """``deleted`` tells whether the object is gone; if not, the body is the object that waits to go."""
        dry_run = bool(options.dry_run)
        for attempt in range(PATCH_TRIES):
            record = self._find(resource, namespace, name)
            old: JsonObject = msgspec.json.decode(record.body)
            check_preconditions(old, resource, options)
            await self._admission.admit(old, old, resource, "delete")
            marked, goes = mark_deleted(old, resource, options, self._authority.now())
            if dry_run:
                return Written(encode_stored(marked, resource), deleted=goes)
            try:
                if goes:
                    if not _is_same(marked, old):  # told first, as kube-apiserver does
                        record = await self._store.update(
                            record.key, facts_of(marked, resource), _encoder(marked, resource), expected=record.revision
                        )
                    return Written(await self._remove(record, marked, resource), deleted=True)
                if _is_same(marked, old):
                    return Written(record.body)
                written = await self._store.update(
                    record.key, facts_of(marked, resource), _encoder(marked, resource), expected=record.revision
                )
                return Written(written.body)
            except (ConflictError, NotFoundError):
                if attempt == PATCH_TRIES - 1:
                    raise conflict(resource.plural, resource.group, name, MODIFIED) from None
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _remove(self, record: Record, last: JsonObject, resource: Resource) -> bytes:
        encode = _encoder(last, resource)
        gone = await self._store.delete(
            record.key, lambda revision, _current: encode(revision), expected=record.revision
        )
        self._after(last, resource, deleted=True)
        return gone.body

    def _check_rights(self, user: User | None, resource: Resource, new: JsonObject, old: JsonObject | None) -> None:
        if user is not None and self._guard is not None:
            self._guard(user, resource, new, old)

    def _find(self, resource: Resource, namespace: str, name: str) -> Record:
        record = self._store.get(Key(resource.storage_name, namespace, name))
        if record is None:
            raise not_found(resource.plural, resource.group, name)
        return record


def tracks_generation(resource: Resource) -> bool:
    return resource.is_custom or resource.storage_name in COUNTING


def merge_doors(new: JsonObject, old: JsonObject, resource: Resource, subresource: str) -> JsonObject:
    """Through the main door the status stays; through the status door everything else does."""
    door = door_of(resource.storage_name, subresource) if subresource else None
    if door is not None:
        return door(new, old)
    if not resource.has_status:
        return new
    if subresource == "status":
        merged = {**old, "status": new.get("status")}
        if merged["status"] is None:
            del merged["status"]
        if not resource.is_custom:
            merged["metadata"] = new["metadata"]
        elif "managedFields" in new["metadata"]:
            merged["metadata"] = {**old["metadata"], "managedFields": new["metadata"]["managedFields"]}
        return merged
    if "status" in old:
        return {**new, "status": old["status"]}
    return {key: value for key, value in new.items() if key != "status"}


def _is_same(new: JsonObject, old: JsonObject) -> bool:
    def without_version(tree: JsonObject) -> dict[str, Any]:
        metadata = {key: value for key, value in tree["metadata"].items() if key != "resourceVersion"}
        return {**tree, "metadata": metadata}

    return without_version(new) == without_version(old)


def encode_stored(tree: JsonObject, resource: Resource) -> bytes:
    """Kind and apiVersion first, so that lists can cut them off."""
    rest = {key: value for key, value in tree.items() if key not in ("kind", "apiVersion")}
    return resource.item_prefix + encode_json(rest)[1:]


def _encoder(tree: JsonObject, resource: Resource) -> Callable[[int], bytes]:
    def encode(revision: int) -> bytes:
        tree["metadata"]["resourceVersion"] = str(revision)
        return encode_stored(tree, resource)

    return encode


def deleted_status(resource: Resource, body: bytes) -> bytes:
    """What a deletion that is over answers."""
    metadata = msgspec.json.decode(body)["metadata"]
    details = {"name": metadata["name"], "group": resource.group, "kind": resource.plural, "uid": metadata["uid"]}
    return encode_json(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
    )
