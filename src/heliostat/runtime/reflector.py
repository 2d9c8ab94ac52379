"""Keeps one cache in step with the API: carries out what the watch machine asks for, and applies what comes back.

Rules: it never ends by itself (every failure is a reason to try again); a watch that is neither fed nor closed by the
time the server had to close it is deaf and is given up; ``problem`` tells how long there has been no progress, and the
health check listens to that alone, so a deaf watch cannot hide behind a living process. Optional caches: any answer is
progress, because a restart would change nothing, and nobody waits for a first list that does not come: the cache is
reported as refused until it is filled.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Generic, TypeVar

from heliostat.kube.objects import Object
from heliostat.runtime.cache import Cache, CacheWriter, Unreadable
from heliostat.runtime.client import Client
from heliostat.runtime.errors import ApiError, ForbiddenError, NotFoundError, UnavailableError
from heliostat.runtime.transport import Chunks
from heliostat.runtime.watch import (
    Change,
    ListPage,
    OpenWatch,
    Pause,
    Progress,
    Put,
    Removed,
    State,
    Swap,
    WatchMachine,
    WatchSettings,
)
from heliostat.runtime.watch_lines import Bookmark, BrokenLine, Line, LineDecoder, Misfit, ObjectLine

T = TypeVar("T", bound=Object)


class SilentWatchError(UnavailableError):
    """Neither fed nor closed in time: bytes are lost somewhere between the server and us."""


class Reflector(Generic[T]):
    """``chance`` gives numbers in [0, 1); ``on_problem`` hears of everything that went wrong, for the log."""

    def __init__(
        self,
        client: Client,
        cache: Cache[T],
        *,
        settings: WatchSettings,
        chance: Callable[[], float],
        on_problem: Callable[[str, Exception], None],
        since: int = 0,
        is_dispensable: bool = False,
    ) -> None:
        self.cache = cache
        self.restarts = 0
        self.silences = 0
        self.misfits = 0
        self.received_bytes = 0
        self._client = client
        self._writer = CacheWriter(cache)
        self._settings = settings
        self._machine: WatchMachine[T] = WatchMachine(settings, chance, since)
        self._decoder = LineDecoder(cache.kind.shape)
        self._on_problem = on_problem
        self._last_progress: float | None = None
        self._unreadable: list[Unreadable] = []  # of the list that is being read
        self._is_dispensable = is_dispensable
        self._patience: asyncio.TimerHandle | None = None
        self._last_words = f"{cache.kind} has not been listed yet"

    async def run(self) -> None:
        self._progressed()
        if self._is_dispensable:
            self._be_patient()
        try:
            while True:
                try:
                    await self._step()
                except ApiError as error:
                    self._failed(error)
        finally:
            if self._patience is not None:
                self._patience.cancel()

    def _be_patient(self, seen_bytes: int = -1) -> None:
        """Until the first list is there, or nothing more of it has come for a while."""
        if self.cache.answered.is_set():
            return
        if self.received_bytes == seen_bytes:
            self._writer.refuse(self._last_words)
            return
        seconds = self._settings.first_list_seconds
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(seconds, self._be_patient, self.received_bytes)

    def _failed(self, error: ApiError) -> None:
        self._on_problem(f"watch of {self.cache.kind}", error)
        was_streaming = self._machine.state is State.STREAMING
        self._machine.failed(error)
        self._last_words = str(error)
        if was_streaming and self._machine.state is State.LISTING:
            self._progressed()  # the list that is asked for instead will tell
        elif isinstance(error, ForbiddenError | NotFoundError):
            self._refused(str(error))
        elif self._is_dispensable and error.is_answer:
            self._progressed()

    def problem(self, now: float) -> str | None:
        """What to say when there has been no progress for too long; ``now`` is the loop's time."""
        if self._last_progress is None:
            return f"the watch of {self.cache.kind} has not begun"
        idle = now - self._last_progress
        is_stuck = idle > self._settings.stuck_seconds
        return f"the watch of {self.cache.kind} has made no progress for {idle:.0f} s" if is_stuck else None

    def idle_seconds(self, now: float) -> float:
        return 0.0 if self._last_progress is None else now - self._last_progress

    async def _step(self) -> None:
        match self._machine.next():
            case Pause(seconds):
                self.restarts += 1
                await asyncio.sleep(seconds)
            case ListPage(token):
                if not token:
                    self._unreadable = []
                await self._list(token)
            case OpenWatch() as command:
                self._unreadable = []
                await self._watch(command)

    async def _list(self, token: str) -> None:
        kind = self.cache.kind
        body = await self._client.list_page(
            kind.resource,
            namespace=kind.namespace,
            label_selector=kind.label_selector,
            field_selector=kind.field_selector,
            limit=self._settings.page_size,
            continue_token=token,
            metadata_only=kind.metadata_only,
        )
        self._progressed()
        page = self._decoder.page(body)
        self.received_bytes += len(body)
        for misfit in page.misfits:
            self._tell_misfit(misfit)
            self._unreadable.append(Unreadable(misfit.metadata, misfit.problem))
        self._apply(self._machine.page(page.items, page.revision, page.continue_token))

    async def _watch(self, command: OpenWatch) -> None:
        kind = self.cache.kind
        seconds = self._settings.proof_seconds if command.is_proof else self._settings.watch_seconds
        chunks = await self._client.open_watch(
            kind.resource,
            namespace=kind.namespace,
            label_selector=kind.label_selector,
            field_selector=kind.field_selector,
            resource_version=str(command.revision) if command.revision else "",
            initial_events=command.initial_events,
            timeout_seconds=max(1, round(seconds)),
            metadata_only=kind.metadata_only,
        )
        if self._machine.state is State.WATCHING:
            self._writer.accept()
        begun = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._settings.first_list_seconds) as alarm:
                await self._read(chunks, alarm, begun + seconds + self._settings.silence_seconds)
        except TimeoutError:
            self.silences += 1
            error = SilentWatchError(f"the watch of {kind} was neither fed nor closed in {seconds:.0f} s")
            if self._machine.state is not State.STREAMING:
                raise error from None
            self._on_problem(f"streaming list of {kind}, which is asked for in pages instead", error)
        finally:
            await chunks.aclose()
        self._machine.ended()

    async def _read(self, chunks: Chunks, alarm: asyncio.Timeout, end: float) -> None:
        """Until ``end``; of a streaming list something has to come all the time: a server may not know that it is one,
        and then nothing says where it ends."""
        clock = asyncio.get_running_loop().time
        if self._machine.state is not State.STREAMING:
            alarm.reschedule(end)
        async for line in _split_lines(chunks):
            was_streaming = self._machine.state is State.STREAMING
            self._take(self._decoder.line(line))
            self.received_bytes += len(line)
            if was_streaming:
                is_complete = self._machine.state is not State.STREAMING
                alarm.reschedule(end if is_complete else clock() + self._settings.first_list_seconds)
        self._progressed()  # the server closed it: it is alive

    def _take(self, line: Line[T]) -> None:
        match line:
            case ObjectLine():
                item = line.object
                revision = item.metadata.revision
                self._apply(self._machine.event(line.type, item, revision))
            case Bookmark():
                self._apply(self._machine.bookmark(line.revision, ends_initial=line.ends_initial))
            case Misfit():
                self._tell_misfit(line)
                self._take_misfit(line)
            case BrokenLine():
                raise UnavailableError(f"the watch of {self.cache.kind} broke off inside a line: {line.problem}")
            case ApiError():
                raise line
        self._progressed()

    def _apply(self, change: Change[T] | None) -> None:
        match change:
            case Put():
                self._writer.put(change.item)
            case Removed():
                self._writer.remove(change.item)
            case Progress():
                self._writer.progress(change.revision)
            case Swap():
                self._writer.replace(change.items, change.revision, went_back=change.went_back)
                for found in self._unreadable:
                    self._writer.mark(found)
            case None:
                pass

    def _take_misfit(self, misfit: Misfit) -> None:
        """What cannot be read must not be decided on, and is not taken for gone either."""
        found = Unreadable(misfit.metadata, misfit.problem)
        is_listing = self._machine.state is State.STREAMING
        change = self._machine.bookmark(misfit.metadata.revision, ends_initial=False)
        if is_listing:
            self._unreadable.append(found)
        elif change is not None and misfit.type == "DELETED":
            self._writer.remove(Object(misfit.metadata))
        elif change is not None:
            self._apply(change)
            self._writer.mark(found)

    def _tell_misfit(self, misfit: Misfit) -> None:
        self.misfits += 1
        problem = ValueError(misfit.problem)
        self._on_problem(f"{self.cache.kind} {misfit.metadata.key} cannot be read", problem)

    def _refused(self, why: str) -> None:
        """No view is to be had, but the server is there and answers: starting anew would change nothing."""
        self._writer.refuse(why)
        self._progressed()

    def _progressed(self) -> None:
        self._last_progress = asyncio.get_running_loop().time()


async def _split_lines(chunks: Chunks) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
        for line in lines:
            if line:
                yield line
    if rest:
        yield rest
