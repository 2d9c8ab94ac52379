"""Holds a ``coordination.k8s.io/v1`` Lease: carries out what ``lease_decisions`` says, and moves the fence.

Rules: every write of the lease names the version it was decided from, so of two that try one is refused; a renewal
counts from the moment it was sent; an answer that did not come is no renewal; releasing closes the fence first.
It belongs to one event loop, which may be one of its own in a thread of its own; the fence is all that others touch.
"""

import asyncio
import math
from collections.abc import Callable
from typing import Protocol

import msgspec

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import revision_of
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.lease_decisions import (
    LONGEST_PAUSE,
    Acquire,
    Lead,
    LeaseSettings,
    Lost,
    Pause,
    Read,
    Renew,
    Seen,
    Standing,
    decide,
    hold,
    see,
)
from heliostat.runtime.lease_record import build_held, build_released, decode_lease, read_record

LEASE = ResourceType("coordination.k8s.io/v1", "Lease", "leases")
_RELEASE_ATTEMPTS = 3
_NOBODY = Standing(not_before=-math.inf)
_NO_ANSWER = (ApiError, TimeoutError, msgspec.MsgspecError)


class LeaseClient(Protocol):
    """What it needs of a client: one without a fence, or nobody could ever get the lease."""

    async def get(self, kind: ResourceType, namespace: str, name: str, /) -> bytes: ...

    async def create(self, kind: ResourceType, tree: JsonObject, /) -> bytes: ...

    async def replace(self, kind: ResourceType, tree: JsonObject, /) -> bytes: ...


class LeaseHolder:
    """``chance`` gives numbers in [0, 1); ``on_problem`` hears of calls that failed, for the log."""

    def __init__(
        self,
        client: LeaseClient,
        settings: LeaseSettings,
        fence: LeaseFence,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        chance: Callable[[], float],
        on_problem: Callable[[str, Exception], None],
    ) -> None:
        self.settings = settings
        self.fence = fence
        self._client = client
        self._clock = clock
        self._wall_clock = wall_clock
        self._chance = chance
        self._on_problem = on_problem
        self._call_seconds = min(settings.request_seconds, settings.renew_deadline_seconds / 3)
        self._tree: JsonObject | None = None
        self._seen: Seen | None = None
        self._me = _NOBODY

    async def run(self, on_lead: Callable[[], None]) -> str:
        """Get the lease, tell it, keep it; ends with the reason when it is lost."""
        because = "the renewal of the lease was stopped"
        try:
            while True:
                match decide(self._seen, self._me, self._clock(), self.settings):
                    case Pause(seconds):
                        await asyncio.sleep(seconds)
                    case Read():
                        await self._read()
                    case Acquire() | Renew():
                        await self._write()
                    case Lead():
                        self._begin()
                        on_lead()
                    case Lost(because):
                        return because
        finally:
            self.fence.close(because)
            self._forget()

    @property
    def revision(self) -> int:
        """Of the lease as we last wrote or saw it: whoever leads because of it must not act on an older view."""
        return revision_of(((self._tree or {}).get("metadata") or {}).get("resourceVersion", ""))

    async def release(self) -> None:
        """Let somebody else lead soon, if we hold it. Failing is no harm: it expires."""
        self.fence.close("the lease was given back")
        for _ in range(_RELEASE_ATTEMPTS):
            try:
                async with asyncio.timeout(self._call_seconds):
                    await self._release()
            except ConflictError:
                continue  # a renewal of ours that was still under way
            except _NO_ANSWER as error:
                self._on_problem("release the lease", error)
            return

    async def _release(self) -> None:
        tree = decode_lease(await self._get())
        if read_record(tree).holder == self.settings.identity:
            await self._client.replace(LEASE, build_released(tree, self._wall_clock()))

    async def _get(self) -> bytes:
        return await self._client.get(LEASE, self.settings.namespace, self.settings.name)

    async def _read(self) -> None:
        sent = self._clock()
        try:
            async with asyncio.timeout(self._call_seconds):
                self._observe(decode_lease(await self._get()))
        except NotFoundError:
            self._observe(None)
        except _NO_ANSWER as error:
            self._failed("read the lease", error, sent)
            return
        if self._me.renewed_at is None:
            self._call_again_at(self._clock() + self._pause())

    async def _write(self) -> None:
        sent = self._clock()
        try:
            async with asyncio.timeout(self._call_seconds):
                tree = decode_lease(await self._send())
        except (ConflictError, AlreadyExistsError):
            self._doubt()
            self._call_again_at(sent)  # somebody was faster: look at once
        except NotFoundError as error:
            if self._tree is None:  # there is no such namespace
                self._doubt()
                self._failed("create the lease", error, sent)
            else:
                self._observe(None)
        except _NO_ANSWER as error:
            self._doubt()
            self._failed("write the lease", error, sent)
        else:
            self._me = hold(self._seen, self._me, sent, self.settings, self._pause())
            self._observe(tree)
            if self._me.is_leading:
                self.fence.extend(sent + self.settings.renew_deadline_seconds)

    async def _send(self) -> bytes:
        settings = self.settings
        tree = build_held(
            self._tree,
            settings.namespace,
            settings.name,
            settings.identity,
            settings.lease_seconds,
            self._wall_clock(),
        )
        if self._tree is None:
            return await self._client.create(LEASE, tree)
        return await self._client.replace(LEASE, tree)

    def _begin(self) -> None:
        self._me = msgspec.structs.replace(self._me, is_leading=True)
        if self._me.renewed_at is not None:
            self.fence.open(self._me.renewed_at + self.settings.renew_deadline_seconds)

    def _forget(self) -> None:
        """As if we had never seen the lease: so we also wait for what we ourselves may still have under way."""
        self._tree, self._seen, self._me = None, None, _NOBODY

    def _observe(self, tree: JsonObject | None) -> None:
        self._tree = tree
        self._seen = see(self._seen, read_record(tree) if tree is not None else None, self._clock())

    def _doubt(self) -> None:
        if self._seen is not None:
            self._seen = msgspec.structs.replace(self._seen, is_current=False)

    def _failed(self, what: str, error: Exception, sent: float) -> None:
        self._on_problem(what, error)
        self._call_again_at(max(self._clock(), sent + self._pause()))

    def _call_again_at(self, moment: float) -> None:
        self._me = msgspec.structs.replace(self._me, not_before=moment)

    def _pause(self) -> float:
        spread = 1 + (LONGEST_PAUSE - 1) * self._chance()
        return self.settings.retry_seconds * spread
