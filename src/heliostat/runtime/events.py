"""Writes Events about objects, on the side: telling people must never disturb the work.

Rules: ``record`` neither waits nor fails; what cannot be written soon is counted and dropped; a failed write is tried
again a few times; at the end the counts of running series are written, within a deadline. Which events are told at all
is decided by ``event_aggregation``.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from heliostat.kube.backoff import Backoff
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Event
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.errors import (
    AlreadyExistsError,
    AmbiguousError,
    ApiError,
    NotFoundError,
    ThrottledError,
    UnavailableError,
)
from heliostat.runtime.event_aggregation import (
    EVENT,
    EventBook,
    EventSettings,
    Moment,
    Series,
    build_event,
    build_series,
    name_of,
    namespace_of,
)
from heliostat.runtime.reconciler import Subject

_ATTEMPTS = 4
_AGAIN = Backoff(first=1.0, factor=2.0, limit=10.0)
_PARALLEL = 4


class EventClient(Protocol):
    async def create(self, kind: ResourceType, tree: JsonObject, /) -> bytes: ...

    async def patch(self, kind: ResourceType, namespace: str, name: str, changes: JsonObject, /) -> bytes: ...


class EventWriter:
    """``told`` hears what became of each: created, patched, repeated, limited, dropped, refused or failed.

    ``on_problem`` hears of what only a bug can cause.
    """

    def __init__(
        self,
        client: EventClient,
        instance: str,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        told: Callable[[str], None],
        on_problem: Callable[[str, Exception], None],
        settings: EventSettings | None = None,
    ) -> None:
        self._client = client
        self._instance = instance
        self._clock = clock
        self._wall_clock = wall_clock
        self._told = told
        self._on_problem = on_problem
        self._settings = settings or EventSettings()
        self._book = EventBook(self._settings)
        self._waiting: deque[Series] = deque()
        self._writing = 0
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def recorder(self, controller: str) -> "EventRecorder":
        """For one ``reportingController``."""
        return EventRecorder(self, controller)

    def record(self, controller: str, subject: Subject, event: Event) -> None:
        try:
            self._record(controller, subject, event)
        except Exception as error:  # noqa: BLE001  an event that trips the recorder must not trip the work it tells about
            self._on_problem(f"an event about {subject.ref}", error)
            self._told("failed")

    def _record(self, controller: str, subject: Subject, event: Event) -> None:
        now = Moment(self._clock(), self._wall_clock())
        series = self._book.note(controller, subject, event, now)
        if series is None:
            self._told("limited")
        elif series.count > 1:
            self._told("repeated")
        elif len(self._waiting) >= self._settings.most_waiting:
            self._book.forget(series)
            self._told("dropped")
        else:
            self._put(series)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._refresh())
            for _ in range(_PARALLEL):
                group.create_task(self._write_for_ever())

    async def flush(self, seconds: float) -> None:
        """Write what is waiting and the counts not written yet; what is left after so many seconds is dropped.

        ``run`` may go on meanwhile and should be cancelled only afterwards.
        """
        for series in self._book.due(self._clock(), is_last_chance=True):
            self._put(series)
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(self._write_waiting() for _ in range(_PARALLEL)))
                await self._idle.wait()
        except TimeoutError:
            for _ in range(len(self._waiting)):
                self._told("dropped")
            self._waiting.clear()

    def _put(self, series: Series) -> None:
        series.is_waiting = True
        self._waiting.append(series)
        self._wake.set()

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(self._settings.refresh_seconds / 4)
            for series in self._book.due(self._clock()):
                self._put(series)

    async def _write_for_ever(self) -> None:
        while True:
            await self._wake.wait()
            await self._write_waiting()
            self._wake.clear()

    async def _write_waiting(self) -> None:
        while self._waiting:
            self._writing += 1
            self._idle.clear()
            try:
                await self._write_next()
            finally:
                self._writing -= 1
                if not self._writing:
                    self._idle.set()

    async def _write_next(self) -> None:
        series = self._waiting.popleft()
        series.is_waiting = False
        result = await self._write(series)
        if result in ("refused", "failed"):
            self._book.forget(series)
        self._told(result)

    async def _write(self, series: Series) -> str:
        for attempt in range(_ATTEMPTS):
            try:
                return await self._send(series)
            except (UnavailableError, AmbiguousError) as error:
                asked = error.retry_after if isinstance(error, ThrottledError) else 0.0
                await asyncio.sleep(max(asked, _AGAIN.delay(attempt)))
            except ApiError:
                return "refused"  # by the server, or by the fence
            except Exception as error:  # noqa: BLE001  see record
                self._on_problem("the writing of an event", error)
                return "failed"
        return "failed"

    async def _send(self, series: Series) -> str:
        count = series.count
        result = "patched" if series.told else "created"
        try:
            if series.told:
                namespace, name = namespace_of(series), name_of(series)
                await self._client.patch(EVENT, namespace, name, build_series(series))
            else:
                await self._client.create(EVENT, build_event(series, self._instance))
        except AlreadyExistsError:
            count = 1  # our own create, whose answer was lost
        except NotFoundError:
            if not series.told:
                raise
            series.told = 0  # it expired over there: begin anew, with the count
            return await self._send(series)
        series.told, series.told_at = count, self._clock()
        return result


class EventRecorder:
    def __init__(self, writer: EventWriter, controller: str) -> None:
        self._writer = writer
        self._controller = controller

    def record(self, subject: Subject, event: Event) -> None:
        """Returns at once, whatever happens."""
        self._writer.record(event.reporter or self._controller, subject, event)
