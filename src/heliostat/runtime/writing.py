"""One action, carried out: from the vocabulary of plans to calls of the client, and what each answer means.

Rules: a create that finds its object there is done (names are derived, and its owner must be the same); a delete that
finds nothing is done, and one that finds another object under the name has failed: the cache was stale; an answer that
stays open is remembered as a doubt and read again before the next decision. Every result that changed the server is
told to ``Freshness``.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Key, Metadata, Object
from heliostat.kube.plan import Action, Create, Delete, Effect, JsonObject, Patch, Random, Ref, Replace, WriteStatus
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.runtime.client import Client
from heliostat.runtime.effects import Effects
from heliostat.runtime.errors import AlreadyExistsError, AmbiguousError, NotFoundError
from heliostat.runtime.freshness import Freshness, Unsettled

_MARK = msgspec.json.encode(Random(0)).partition(b",")[0]  # how the JSON of every marker begins


class _Version(Struct, frozen=True):
    """What a change names as that which it changes."""

    uid: str
    version: str


class Writing:
    """``random_bytes`` fills the secrets that a plan only marks; ``effects`` carries out what is not Kubernetes."""

    def __init__(
        self,
        client: Client,
        types: ResourceTypes,
        freshness: Freshness,
        *,
        random_bytes: Callable[[int], bytes],
        effects: Effects | None = None,
    ) -> None:
        self._client = client
        self._types = types
        self._freshness = freshness
        self._random_bytes = random_bytes
        self._effects = effects or Effects()

    async def carry_out(self, subject: str, action: Action) -> None:
        """Raises what the client raises; a doubt has been noted then."""
        match action:
            case Create():
                await self._create(subject, action)
            case Patch():
                await self._patch(subject, action)
            case Replace():
                await self._change(subject, action.ref, _version_of(action), lambda kind: self._replace(kind, action))
            case WriteStatus():
                version = _Version(action.uid, action.resource_version)
                await self._change(subject, action.ref, version, lambda kind: self._write_status(kind, action))
            case Delete():
                await self._delete(subject, action)
            case Effect():
                await self._effects.carry_out(action)

    async def settle(self, subject: str) -> float:
        """Find out what became of writes without an answer: a read after the last moment they could land.

        Seconds until the next of these moments; 0: nothing is open any more.
        """
        while doubts := self._freshness.unsettled(subject):
            now = asyncio.get_running_loop().time()
            due = [doubt for doubt in doubts if doubt.lands_before <= now]
            if not due:
                return min(doubt.lands_before for doubt in doubts) - now
            for doubt in due:
                await self._settle(subject, doubt)
        return 0.0

    async def confirm(self, subject: str, ref: Ref, uid: str) -> None:
        """A read of what no write of ours is about: its end, or a newer state of it, has to be seen first."""
        doubt = Unsettled(ref, uid, asyncio.get_running_loop().time(), is_end=True)
        self._freshness.doubt(subject, doubt)
        await self._settle(subject, doubt)

    async def _settle(self, subject: str, doubt: Unsettled) -> None:
        kind = self._types.of_ref(doubt.ref)
        key = Key(doubt.ref.namespace, doubt.ref.name)
        try:
            found = _metadata(await self._client.get(kind, key.namespace, key.name))
        except NotFoundError:
            if doubt.uid:
                self._freshness.gone(subject, kind, key, doubt.uid)
        else:
            if doubt.uid and found.uid != doubt.uid:
                self._freshness.gone(subject, kind, key, doubt.uid)
            elif doubt.is_end and found.is_terminating:
                self._freshness.deleted(subject, kind, key, doubt.uid)
            else:
                self._freshness.wrote(subject, kind, found)
        self._freshness.settled(subject, doubt)

    async def _create(self, subject: str, action: Create) -> None:
        kind = self._types.of_ref(action.ref)
        tree = fill_random(action.object, self._random_bytes)
        try:
            made = await self._guard(subject, action.ref, self._client.create(kind, tree))
        except AlreadyExistsError:
            if not action.exists_is_fine:
                raise
            await self._recognise(subject, kind, action)
            return
        if kind.subresource:
            return  # a Binding and the like leave no object of their own
        self._freshness.wrote(subject, kind, made)

    async def _recognise(self, subject: str, kind: ResourceType, action: Create) -> None:
        """The object is there although the view did not show it. Is it ours? Then the view has to catch up."""
        found = _metadata(await self._client.get(kind, action.ref.namespace, action.ref.name))
        meant = msgspec.convert(action.object["metadata"], Metadata).controller
        if meant is not None and (found.controller is None or found.controller.uid != meant.uid):
            owner = f"belongs to {found.controller.kind} {found.controller.name}" if found.controller else "is not ours"
            raise AlreadyExistsError(409, "AlreadyExists", f"{action.ref} exists and {owner}")
        if found.is_terminating:
            raise AlreadyExistsError(409, "AlreadyExists", f"{action.ref} is still being deleted")
        self._freshness.wrote(subject, kind, found)

    async def _patch(self, subject: str, action: Patch) -> None:
        metadata = {**action.changes.get("metadata", {}), "uid": action.uid}
        if action.resource_version:
            metadata["resourceVersion"] = action.resource_version
        changes = {**action.changes, "metadata": metadata}
        ref = action.ref
        await self._change(
            subject,
            ref,
            _Version(action.uid, action.resource_version),
            lambda kind: self._client.patch(kind, ref.namespace, ref.name, changes, subresource=action.subresource),
        )

    async def _change(
        self, subject: str, ref: Ref, named: _Version, call: Callable[[ResourceType], Awaitable[bytes]]
    ) -> None:
        """An object that is not there any more must be gone from the view, too, before anything else is decided."""
        kind = self._types.of_ref(ref)
        try:
            changed = await self._guard(subject, ref, call(kind), named.uid)
        except NotFoundError as error:
            if f'"{ref.name}"' in str(error):  # and not: this server knows no such path
                self._freshness.gone(subject, kind, Key(ref.namespace, ref.name), named.uid)
            raise
        if _may_be_gone(changed, named):
            self._freshness.doubt(subject, Unsettled(ref, changed.uid, asyncio.get_running_loop().time()))
        else:
            self._freshness.wrote(subject, kind, changed)

    def _replace(self, kind: ResourceType, action: Replace) -> Awaitable[bytes]:
        return self._client.replace(kind, action.object, subresource=action.subresource)

    def _write_status(self, kind: ResourceType, action: WriteStatus) -> Awaitable[bytes]:
        return self._client.write_status(
            kind,
            action.ref.namespace,
            action.ref.name,
            uid=action.uid,
            resource_version=action.resource_version,
            status=action.status,
        )

    async def _delete(self, subject: str, action: Delete) -> None:
        kind, ref = self._types.of_ref(action.ref), action.ref
        call = self._client.delete(
            kind,
            ref.namespace,
            ref.name,
            uid=action.uid,
            resource_version=action.resource_version,
            propagation=action.propagation,
            grace_seconds=action.grace_seconds,
        )
        with suppress(NotFoundError):
            await self._guard(subject, ref, call, action.uid, is_end=True)
        self._freshness.deleted(subject, kind, Key(ref.namespace, ref.name), action.uid)

    async def _guard(
        self, subject: str, ref: Ref, call: Awaitable[bytes], uid: str = "", *, is_end: bool = False
    ) -> Metadata:
        """Notes a doubt when the call ends without telling what became of it, cancelled ones included."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            return _read_answer(ref, await call)
        except (AmbiguousError, asyncio.CancelledError) as error:
            told = error.lands_before if isinstance(error, AmbiguousError) else clock() + self._client.request_seconds
            lands_before = max(told, begun + self._client.request_seconds)
            self._freshness.doubt(subject, Unsettled(ref, uid, lands_before, is_end))
            raise


def fill_random(tree: JsonObject, random_bytes: Callable[[int], bytes]) -> JsonObject:
    """The tree with every ``Random`` marker filled; the plan keeps its markers.

    Most trees have none. Looking for one in their JSON takes a tenth of the time of a walk.
    """
    if _MARK not in msgspec.json.encode(tree):
        return tree
    filled: JsonObject = _fill(tree, random_bytes)
    return filled


def _fill(value: Any, random_bytes: Callable[[int], bytes]) -> Any:
    if isinstance(value, Random):
        return base64.b64encode(random_bytes(value.bytes)).decode()
    if isinstance(value, dict):
        return {key: _fill(item, random_bytes) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, random_bytes) for item in value]
    return value


def _read_answer(ref: Ref, body: bytes) -> Metadata:
    """What is not the server's word (a page of somebody in between) does not tell what became of the write."""
    try:
        return _metadata(body)
    except msgspec.MsgspecError as error:
        raise AmbiguousError(f"{ref}: answered with something else: {error}") from error


def _metadata(body: bytes) -> Metadata:
    return msgspec.json.decode(body, type=Object).metadata


def _version_of(action: Replace) -> _Version:
    metadata = action.object["metadata"]
    return _Version(metadata.get("uid", ""), metadata.get("resourceVersion", ""))


def _may_be_gone(answer: Metadata, named: _Version) -> bool:
    """With its last finalizer an object that was asked to go is gone, and the answer names the version before that.

    So does the answer to a change that changes nothing: a read tells.
    """
    is_new = bool(named.version) and answer.resource_version != named.version
    return answer.is_terminating and not answer.finalizers and not is_new
