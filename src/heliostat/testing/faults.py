"""Faults as data: what to do to which requests, how often. They stand between the network and the handlers.

A fault is taken for the first request it matches, as often as it says, in the order in which faults were added. So
a test reads like a plan: "the next two writes of Pods answer 409", "the reply to this create is lost", "this watch
ends after one event".
"""

import asyncio
import re
from typing import Self, TypeAlias

from msgspec import Struct, structs

from heliostat.embedded.doors.inside import (
    Answer,
    Chunks,
    Dropped,
    Handle,
    RefusedError,
    Request,
    Stream,
    refusal_response,
)

REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Delay(Struct, frozen=True):
    """Answer as usual, so many seconds later."""

    seconds: float


class Refuse(Struct, frozen=True):
    """Do nothing and answer with this code; 429 and 503 ask to come back after ``retry_after`` seconds."""

    code: int
    retry_after: int = 1


class Drop(Struct, frozen=True):
    """End the connection without an answer, before the request was carried out or after."""

    after: bool = False


class Cut(Struct, frozen=True):
    """Let a watch live for so many lines, then end it; ``mid_line`` ends it inside the next one."""

    lines: int = 0
    mid_line: bool = False


class Stale(Struct, frozen=True):
    """Answer a list from an older revision, as a replica that lags would."""

    revision: int


Action: TypeAlias = Delay | Refuse | Drop | Cut | Stale


class Fault(Struct, frozen=True):
    """``path`` is a regular expression that has to be found in the path; an empty method matches any."""

    action: Action
    method: str = ""
    path: str = ""
    watch: bool | None = None  # only watches, or only what is none; None: both
    times: int = 1

    def matches(self, request: Request) -> bool:
        if self.method and request.method != self.method:
            return False
        if self.watch is not None and request.flag("watch") is not self.watch:
            return False
        return re.search(self.path, request.path) is not None


class Faults:
    """The faults still to come, and those that were met."""

    def __init__(self) -> None:
        self._left: list[tuple[Fault, int]] = []
        self.met: list[tuple[Fault, Request]] = []

    def add(self, *faults: Fault) -> None:
        self._left += [(fault, fault.times) for fault in faults]

    def clear(self) -> None:
        self._left.clear()

    def take(self, request: Request) -> Fault | None:
        for index, (fault, left) in enumerate(self._left):
            if fault.matches(request):
                self._left[index : index + 1] = [(fault, left - 1)] if left > 1 else []
                self.met.append((fault, request))
                return fault
        return None

    def around(self, handle: Handle) -> Handle:
        """The handler with these faults in front of it."""

        async def faulty(request: Request) -> Answer:
            fault = self.take(request)
            return await handle(request) if fault is None else await _suffer(fault.action, request, handle)

        return faulty


async def _suffer(action: Action, request: Request, handle: Handle) -> Answer:
    match action:
        case Delay():
            await asyncio.sleep(action.seconds)
            return await handle(request)
        case Refuse():
            return refusal_response(_refusal(action))
        case Drop():
            if action.after:
                await handle(request)
            return Dropped()
        case Stale():
            exact = {"resourceVersion": [str(action.revision)], "resourceVersionMatch": ["Exact"]}
            return await handle(_with_query(request, exact))
        case Cut():
            answer = await handle(request)
            return Stream(_CutChunks(answer.chunks, action)) if isinstance(answer, Stream) else answer


def _refusal(action: Refuse) -> RefusedError:
    details = {"retryAfterSeconds": action.retry_after} if action.code in (429, 503) else {}
    reason = REASONS.get(action.code, "Unknown")
    return RefusedError(action.code, reason, f"injected fault: {reason}", details=details)


def _with_query(request: Request, extra: dict[str, list[str]]) -> Request:
    return structs.replace(request, query={**request.query, **extra})


class _CutChunks:
    """A stream that ends early."""

    def __init__(self, chunks: Chunks, cut: Cut) -> None:
        self._chunks = chunks
        self._left = cut.lines
        self._mid_line = cut.mid_line
        self._lines: list[bytes] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._left == 0 and not self._mid_line:
            raise StopAsyncIteration
        while not self._lines:
            self._lines = (await anext(self._chunks)).splitlines(keepends=True)
        line = self._lines.pop(0)
        if self._left == 0:
            self._mid_line = False
            return line[: len(line) // 2]
        self._left -= 1
        return line

    async def aclose(self) -> None:
        await self._chunks.aclose()
