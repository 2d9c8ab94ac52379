"""The API as the loop uses it: typed calls over any transport, each within one deadline.

Rules: every request passes the limiter and is counted by ``observe``; the fence is asked immediately before every
sending of a write, after all waiting; a request is tried again only inside its own deadline and only when that cannot
do anything twice (``retries``). Where a ``rate`` is set, a request waits for its moment before its deadline begins.
Answers are bytes; everything else is an error of ``errors``. Nothing is cached here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, TypeVar

from msgspec import Struct, structs

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime import calls
from heliostat.runtime.calls import Selection
from heliostat.runtime.errors import AmbiguousError, ApiError, UnavailableError, error_of
from heliostat.runtime.limit import Lane, Reception
from heliostat.runtime.limiter import Limiter, Ticket
from heliostat.runtime.rate import Rate
from heliostat.runtime.retries import decide_retry
from heliostat.runtime.transport import Call, Chunks, Reply, Transport


class Fence(Protocol):
    def check(self) -> None:
        """Raises FencedError when the right to write is in doubt."""
        ...


class Exchange(Struct, frozen=True):
    """One sending and what came of it, for metrics."""

    verb: str
    resource: str
    outcome: str  # the status code, or the name of the error
    seconds: float
    waited: float  # for a turn, before
    method: str = "GET"
    sent_bytes: int = 0
    received_bytes: int = 0  # of a whole answer; those of a stream are counted by who reads it
    is_retry: bool = False


Observe: TypeAlias = Callable[[Exchange], None]
A = TypeVar("A", bound=Reply | Chunks)
_Send: TypeAlias = Callable[[Call, float], Awaitable[A]]

NO_TURN = "NoTurn"  # the outcome of what was not sent because others were not done
_OVERLOAD_CODES = (429, 503, 504)
_TIMER_SLACK = 0.01  # seconds by which a timer may be early


class _Purpose(Struct, frozen=True):
    verb: str
    resource: str
    lane: Lane
    is_retry: bool = False
    asked: float | None = None  # when it began to wait for its moment


class Client:
    """``clock`` is the loop's; one whose requests are urgent (lease renewals) never waits behind others."""

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Callable[[], float],
        limiter: Limiter | None = None,
        rate: Rate | None = None,
        request_seconds: float = 5.0,
        fence: Fence | None = None,
        observe: Observe | None = None,
        is_urgent: bool = False,
    ) -> None:
        self.request_seconds = request_seconds
        self.limiter = limiter or Limiter(clock)
        self._rate = rate
        self._transport = transport
        self._clock = clock
        self.fence = fence
        self._observe = observe
        self._is_urgent = is_urgent

    async def get(self, resource: ResourceType, namespace: str, name: str) -> bytes:
        return await self._carry_out(
            calls.get_call(resource, namespace, name), _Purpose("get", str(resource), Lane.GET)
        )

    async def list_page(
        self,
        resource: ResourceType,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
        match: str = "",
        metadata_only: bool = False,
    ) -> bytes:
        selection = Selection(resource, namespace, label_selector, field_selector, metadata_only)
        call = calls.list_call(
            selection, limit=limit, continue_token=continue_token, resource_version=resource_version, match=match
        )
        return await self._carry_out(call, _Purpose("list", str(resource), Lane.LIST))

    async def open_watch(
        self,
        resource: ResourceType,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        initial_events: bool = False,
        timeout_seconds: int,
        metadata_only: bool = False,
    ) -> Chunks:
        """A stream that has begun; it has left the limiter. Who watches tries again, so nothing does here."""
        selection = Selection(resource, namespace, label_selector, field_selector, metadata_only)
        call = calls.watch_call(
            selection,
            resource_version=resource_version,
            initial_events=initial_events,
            timeout_seconds=timeout_seconds,
        )
        purpose = _Purpose("watch", str(resource), Lane.LIST, asked=self._clock())
        await self._wait_for_moment()
        deadline = self._clock() + self.request_seconds
        answer = await self._attempt(call, purpose, deadline, self._transport.open)
        if isinstance(answer, Reply):
            raise error_of(answer.status, answer.body, answer.retry_after)
        return answer

    async def create(self, resource: ResourceType, tree: JsonObject) -> bytes:
        return await self._write("create", resource, calls.create_call(resource, tree))

    async def patch(
        self, resource: ResourceType, namespace: str, name: str, changes: JsonObject, *, subresource: str = ""
    ) -> bytes:
        """A merge patch."""
        return await self._write("patch", resource, calls.patch_call(resource, namespace, name, changes, subresource))

    async def write_status(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str,
        status: JsonObject,
    ) -> bytes:
        """The whole status in the place of the one that was there."""
        call = calls.status_call(resource, namespace, name, uid=uid, resource_version=resource_version, status=status)
        return await self._write("patch", resource, call)

    async def replace(self, resource: ResourceType, tree: JsonObject, *, subresource: str = "") -> bytes:
        return await self._write("update", resource, calls.replace_call(resource, tree, subresource))

    async def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str = "",
        propagation: str = "",
        grace_seconds: int | None = None,
    ) -> bytes:
        call = calls.delete_call(
            resource,
            namespace,
            name,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            grace_seconds=grace_seconds,
        )
        return await self._write("delete", resource, call)

    async def request(self, call: Call) -> bytes:
        """Any other call."""
        return await self._carry_out(call, _Purpose(call.method.lower(), "", Lane.WRITE if call.is_write else Lane.GET))

    async def _write(self, verb: str, resource: ResourceType, call: Call) -> bytes:
        return await self._carry_out(call, _Purpose(verb, str(resource), Lane.WRITE))

    async def _wait_for_moment(self) -> None:
        if self._rate is not None:
            await asyncio.sleep(self._rate.reserve(self._clock()))

    async def _carry_out(self, call: Call, purpose: _Purpose) -> bytes:
        if self._rate is not None:
            purpose = structs.replace(purpose, asked=self._clock())
            await self._wait_for_moment()
        deadline = self._clock() + self.request_seconds
        tries = 0
        while True:
            tries += 1
            try:
                return _body_of(await self._attempt(call, purpose, deadline, self._transport.send))
            except ApiError as error:
                if isinstance(error, AmbiguousError):
                    error.lands_before = deadline
                left = deadline - self._clock()
                pause = decide_retry(error, is_write=call.is_write, tries=tries, seconds_left=left)
                if pause is None:
                    raise
            purpose = structs.replace(purpose, is_retry=True, asked=None)
            if self._rate is not None:
                self._rate.reserve(self._clock())  # its deadline lets it wait for nobody, but it counts
            await asyncio.sleep(pause)

    async def _attempt(self, call: Call, purpose: _Purpose, deadline: float, send: _Send[A]) -> A:
        asked = purpose.asked if purpose.asked is not None else self._clock()
        ticket = await self._enter(call, purpose, deadline, asked)
        outcome, verdict, received = "Cancelled", Reception.UNKNOWN, 0
        try:
            if call.is_write and self.fence is not None:
                self.fence.check()
            answer = await send(call, deadline - self._clock())
            status, received = (answer.status, len(answer.body)) if isinstance(answer, Reply) else (200, 0)
            outcome, verdict = str(status), _verdict_of(status)
        except ApiError as error:
            is_late = isinstance(error, AmbiguousError) and self._clock() >= deadline - _TIMER_SLACK
            outcome, verdict = type(error).__name__, Reception.OVERLOADED if is_late else Reception.UNKNOWN
            raise
        finally:
            self.limiter.leave(ticket, verdict)
            self._tell(call, purpose, outcome, received, asked, ticket)
        return answer

    async def _enter(self, call: Call, purpose: _Purpose, deadline: float, asked: float) -> Ticket:
        ticket = self.limiter.enter_at_once(purpose.lane, is_urgent=self._is_urgent)
        if ticket is not None:
            return ticket  # most of the time, and then without a timer
        try:
            async with asyncio.timeout(deadline - self._clock()):
                return await self.limiter.enter(purpose.lane)
        except TimeoutError:
            self._tell(call, purpose, NO_TURN, 0, asked, Ticket(purpose.lane, self._clock(), 0))
            shown = f"{self.limiter.in_flight} requests are under way and {self.limiter.waiting} wait"
            raise UnavailableError(f"{call}: not sent, no turn within {self.request_seconds:g} s: {shown}") from None

    def _tell(self, call: Call, purpose: _Purpose, outcome: str, received: int, asked: float, ticket: Ticket) -> None:
        if self._observe is None:
            return
        self._observe(
            Exchange(
                purpose.verb,
                purpose.resource,
                outcome,
                seconds=self._clock() - ticket.started,
                waited=ticket.started - asked,
                method=call.method,
                sent_bytes=len(call.body),
                received_bytes=received,
                is_retry=purpose.is_retry,
            )
        )


def _body_of(reply: Reply) -> bytes:
    if not 200 <= reply.status < 300:
        raise error_of(reply.status, reply.body, reply.retry_after)
    return reply.body


def _verdict_of(status: int) -> Reception:
    if status in _OVERLOAD_CODES:
        return Reception.OVERLOADED
    return Reception.UNKNOWN if status >= 500 else Reception.SERVED
