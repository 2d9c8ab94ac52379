"""ResourceQuotas: a write is charged before it happens, and refused when a quota has no room for it.

Rules: ``status.used`` is the account, changed by compare and swap, so that two writes under way cannot share the last
bit of room; a charge counts until its object is there; what is freed is booked right after the write that freed it.
Nothing is charged for a dry run. Differs from kube-apiserver: a new quota knows at once what is used.
"""

import asyncio
from collections.abc import Callable

import msgspec

from heliostat.embedded.kinds.pods.pod_resources import Amounts, add_amounts, read_amounts
from heliostat.embedded.kinds.quotas.quota_usage import (
    Refusal,
    growth,
    is_in_scope,
    object_usage,
    unsaid_needs,
    used_after,
)
from heliostat.embedded.refusals import forbidden
from heliostat.embedded.server.changes.stored_form import encode_stored
from heliostat.embedded.server.facts import facts_of
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.errors import ConflictError, NotFoundError, StorageError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Record
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.quantity import Quantity

QUOTAS = "resourcequotas"
_UNCHARGED = frozenset({"events", "namespaces", QUOTAS})
_TRIES = 20


class QuotaAdmission:
    def __init__(
        self,
        store: Store,
        quota_resource: Resource,
        now: Callable[[], float],
        on_bug: Callable[[BaseException], None],
    ) -> None:
        self._store = store
        self._resource = quota_resource
        self._now = now
        self._on_bug = on_bug
        self._pending: dict[str, tuple[Key, JsonObject]] = {}  # charged, not yet written, by uid
        self._dirty: set[str] = set()  # namespaces whose accounts are to be made up
        self._tasks: set[asyncio.Task[None]] = set()

    async def charge(self, new: JsonObject, old: JsonObject | None, resource: Resource, *, dry_run: bool) -> None:
        metadata = new["metadata"]
        namespace = metadata.get("namespace", "")
        if resource.storage_name in _UNCHARGED or not self._has_quotas(namespace):
            return
        for _ in range(_TRIES):
            changes = self._decide(new, old, resource)
            if dry_run or not changes:
                return
            self._pending[metadata["uid"]] = (Key(resource.storage_name, namespace, metadata["name"]), new)
            if await self._book(changes):
                return
        raise forbidden(resource.plural, resource.group, metadata["name"], "resource quota evaluation timed out")

    def _decide(
        self, new: JsonObject, old: JsonObject | None, resource: Resource
    ) -> list[tuple[Record, JsonObject, Amounts]]:
        """The quotas that change, each with its new use; raises when one has no room."""
        name, storage = new["metadata"]["name"], resource.storage_name
        usage = object_usage(new, storage, self._now())
        before = object_usage(old, storage, self._now()) if old is not None else {}
        changes = []
        for record in self._quotas(new["metadata"]["namespace"]):
            quota: JsonObject = msgspec.json.decode(record.body)
            if not is_in_scope(quota, new, storage):
                continue
            was_in_scope = old is not None and is_in_scope(quota, old, storage)
            hard, used = (read_amounts((quota.get("status") or {}).get(part)) for part in ("hard", "used"))
            if storage == "pods" and old is None and (needs := unsaid_needs(hard, new)):
                why = f"failed quota: {quota['metadata']['name']}: {needs}"
                raise forbidden(resource.plural, resource.group, name, why)
            more = growth(usage, before if was_in_scope else {})
            after = used_after(quota["metadata"]["name"], hard, used, more)
            if isinstance(after, Refusal):
                raise forbidden(resource.plural, resource.group, name, after.why)
            if after != used:
                changes.append((record, quota, after))
        return changes

    async def _book(self, changes: list[tuple[Record, JsonObject, Amounts]]) -> bool:
        """False when somebody else was faster and all is to be judged again."""
        booked = True
        for record, quota, used in changes:
            quota["status"] = {**(quota.get("status") or {}), "used": _texts(used)}
            try:
                await self._write(record, quota)
            except (ConflictError, NotFoundError):
                booked = False
        return booked

    async def _write(self, record: Record, quota: JsonObject) -> None:
        def encode(revision: int) -> bytes:
            quota["metadata"]["resourceVersion"] = str(revision)
            return encode_stored(quota, self._resource)

        await self._store.update(record.key, facts_of(quota, self._resource), encode, expected=record.revision)

    def complete(self, quota: JsonObject, old: JsonObject | None) -> None:
        """A quota that is written says what it allows and what is used of it."""
        spec = quota.get("spec") or {}
        if old is not None and spec == (old.get("spec") or {}):
            return
        hard = spec.get("hard") or {}
        used = self._count(quota, quota["metadata"]["namespace"])
        quota["status"] = {"hard": dict(hard), "used": _texts(used)} if hard else {}

    def written(self, tree: JsonObject, resource: Resource) -> None:
        metadata = tree["metadata"]
        self._pending.pop(metadata.get("uid", ""), None)
        self._make_up(metadata.get("namespace", ""), resource)

    def abandon(self, tree: JsonObject, resource: Resource) -> None:
        if self._pending.pop(tree["metadata"].get("uid", ""), None) is not None:
            self._make_up(tree["metadata"]["namespace"], resource)

    def _make_up(self, namespace: str, resource: Resource) -> None:
        """Soon, once for many writes: bring the accounts of the namespace in line with what is there."""
        if resource.storage_name in _UNCHARGED or namespace in self._dirty or not self._has_quotas(namespace):
            return
        self._dirty.add(namespace)
        task = asyncio.get_running_loop().create_task(self._recount(namespace))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _recount(self, namespace: str) -> None:
        self._dirty.discard(namespace)
        try:
            for record in self._quotas(namespace):
                quota: JsonObject = msgspec.json.decode(record.body)
                status = quota.get("status") or {}
                used = _texts(self._count(quota, namespace))
                if used != status.get("used", {}):
                    quota["status"] = {**status, "used": used}
                    await self._write(record, quota)
        except (ConflictError, NotFoundError):
            self._make_up(namespace, self._any_other())
        except StorageError:
            return  # the server is going down, or the disk is full: the next change counts again
        except Exception as error:  # noqa: BLE001 - nobody awaits this task
            self._on_bug(error)

    def _any_other(self) -> Resource:
        return msgspec.structs.replace(self._resource, storage_name="")

    def _count(self, quota: JsonObject, namespace: str) -> Amounts:
        hard = (quota.get("spec") or {}).get("hard") or {}
        total: Amounts = dict.fromkeys(hard, Quantity(0))
        now = self._now()
        for storage in _counted_kinds(set(hard)):
            pending = {key.name: tree for key, tree in self._pending.values() if key.resource == storage}
            for record in self._store.page(Scope(storage, namespace)).records:
                tree = pending.pop(record.key.name, None) or msgspec.json.decode(record.body)
                total = _add(total, quota, tree, storage, now)
            for tree in pending.values():
                if tree["metadata"].get("namespace") == namespace:
                    total = _add(total, quota, tree, storage, now)
        return total

    def _has_quotas(self, namespace: str) -> bool:
        return bool(namespace) and self._store.count(Scope(QUOTAS, namespace)) > 0

    def _quotas(self, namespace: str) -> list[Record]:
        return self._store.page(Scope(QUOTAS, namespace)).records


def _add(total: Amounts, quota: JsonObject, tree: JsonObject, storage: str, now: float) -> Amounts:
    if not is_in_scope(quota, tree, storage):
        return total
    usage = object_usage(tree, storage, now)
    return add_amounts(total, {name: quantity for name, quantity in usage.items() if name in total})


def _counted_kinds(names: set[str]) -> set[str]:
    """Which resources of the store a quota with these limits is about."""
    kinds: set[str] = set()
    for name in names:
        if name.startswith("count/"):
            kinds.add(name.removeprefix("count/"))
        elif name in ("configmaps", "secrets", "replicationcontrollers", QUOTAS, "services", "pods"):
            kinds.add(name)
        elif name.startswith("services."):
            kinds.add("services")
        elif name.endswith(("persistentvolumeclaims", "requests.storage")):
            kinds.add("persistentvolumeclaims")
        else:
            kinds.add("pods")
    return kinds


def _texts(amounts: Amounts) -> JsonObject:
    return {name: str(quantity) for name, quantity in sorted(amounts.items())}
