"""One controller at work: keys from the queue, a fresh cache, a plan, its execution, and when to requeue.

Rules: one key is worked on by one worker at a time; a worker whose plan becomes long is replaced by another, so that
long plans do not keep short ones waiting, and as many may be long as there are workers (``long_plans.py``); nobody
sleeps in a worker's place; nothing is decided before the caches show everything that was written earlier for the same
object; a plan that fails, by the server or by a bug, is requeued with back-off and disturbs no other key. When
something has vanished, nothing is made anew before the server itself has said that the object still lives: its own end
may be why, and its cache the last to know.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Protocol

from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.runtime.errors import ApiError
from heliostat.runtime.executor import Executor
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.long_plans import LongPlans
from heliostat.runtime.loop_turns import LoopTurns
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.pace import Seat
from heliostat.runtime.queue import ClosedQueueError, WorkQueue
from heliostat.runtime.reconciler import KeysOf, Reconciler, Subject

LOOK_AGAIN_SECONDS = 1.0  # while the view lags; the awaited change wakes the key earlier


class Observer(Protocol):
    """Hears what a controller does: for metrics, logs and tests."""

    def reconciled(self, controller: str, key: Key, result: str, seconds: float) -> None: ...

    def planned(self, controller: str, key: Key, plan: Plan) -> None: ...

    def failed(self, controller: str, key: Key, error: Exception) -> None: ...


class Controller:
    def __init__(
        self,
        reconciler: Reconciler,
        executor: Executor,
        freshness: Freshness,
        queue: WorkQueue[Key],
        *,
        now: Callable[[], float],
        workers: int,
        observer: Observer,
        after: Callable[[Key, Outcome], None] | None = None,
        stopwatch: Callable[[], float] | None = None,
        turns: LoopTurns | None = None,
    ) -> None:
        """``now`` is the wall clock; ``after`` hears how a plan ended, for reconcilers whose status tells it.

        ``stopwatch`` measures looks, in seconds; an event loop's own clock may stand still while its work is done.
        ``turns`` is shared by all controllers of a loop.
        """
        self.reconciler = reconciler
        self.queue = queue
        self.workers = workers
        self._executor = executor
        self._freshness = freshness
        self._now = now
        self._observer = observer
        self._after = after
        self._stopwatch = stopwatch
        self._turns = turns or LoopTurns()
        self._long = LongPlans(workers)
        self._group: asyncio.TaskGroup | None = None
        self._writers: dict[Key, str] = {}
        self._bereft: set[Key] = set()  # something of theirs has vanished since we last knew that they live

    def connect(self) -> None:
        """From here on changes become keys; what the caches hold already comes first."""
        for source in self.reconciler.sources():
            source.changes.subscribe(self._listener(source.keys_of))

    def _listener(self, keys_of: KeysOf) -> Callable[[Any, Any], None]:
        def changed(before: Any, after: Any) -> None:
            for key in keys_of(before, after):
                if after is None:
                    self._bereft.add(key)
                self.queue.add(key)

        return changed

    async def run(self) -> None:
        """Until the queue is closed; work in hand is finished."""
        async with asyncio.TaskGroup() as self._group:
            for _ in range(self.workers):
                self._group.create_task(self._work())

    async def _work(self) -> None:
        with contextlib.suppress(ClosedQueueError):
            while True:
                if self.queue:  # else it is waited for a key, and the loop turns anyway
                    await self._turns.step_aside()
                key = await self.queue.get()
                try:
                    await self._reconcile(key)
                finally:
                    self.queue.done(key)
                is_replaced = self._long.has_seat(key)
                for guest in self._long.leave(key):
                    self.queue.add(guest)
                if is_replaced:
                    return

    def _take_seat(self, key: Key) -> bool:
        """For the plan of this key: whether it may go on although it is long. Then another worker takes over."""
        if self._group is None or not self._long.take_seat(key):
            return False
        self._group.create_task(self._work())
        return True

    async def _reconcile(self, key: Key) -> None:
        clock = self._stopwatch or asyncio.get_running_loop().time
        begun = clock()
        try:
            result = await self._look(key)
        except ApiError as error:  # settling an earlier write
            self._observer.failed(self.reconciler.name, key, error)
            self.queue.retry(key)
            result = "unavailable"
        except Exception as error:  # noqa: BLE001  one object that trips a planner must not stop the others
            self._observer.failed(self.reconciler.name, key, error)
            self.queue.retry(key)
            result = "bug"
        self._observer.reconciled(self.reconciler.name, key, result, clock() - begun)

    async def _look(self, key: Key) -> str:
        subject = self.reconciler.subject(key)
        self._remember(key, subject)
        if subject is None:
            self.queue.forget(key)
            self._long.forget(key)
            self._bereft.discard(key)
            return "gone"
        if self._long.is_outside(key, subject):
            return "waits"
        open_for = await self._executor.settle(subject)
        if open_for > 0:
            self.queue.add_after(key, open_for)
            return "unsettled"
        if not self._is_still(key, subject):
            self.queue.add(key)
            return "outdated"
        if self._is_stale(subject):
            return self._look_again(key)
        plan = self.reconciler.plan(key, self._now())
        if key in self._bereft and plan.creates:
            return await self._confirm(key, subject)
        self._observer.planned(self.reconciler.name, key, plan)
        seat = Seat(lambda: self._take_seat(key), self._long.turns)
        outcome = await self._executor.carry_out(subject, plan, lambda: self._is_as_it_was(key, subject), seat)
        if self._after is not None:
            self._after(key, outcome)
        return self._finish(key, subject, plan, outcome)

    def _is_still(self, key: Key, subject: Subject) -> bool:
        """Settling takes its time: another object may have the name by then, with writes of its own to wait for."""
        now = self.reconciler.subject(key)
        return now is not None and now.uid == subject.uid

    def _is_as_it_was(self, key: Key, subject: Subject) -> bool:
        now = self.reconciler.subject(key)
        return now is not None and (now.uid, now.generation) == (subject.uid, subject.generation)

    async def _confirm(self, key: Key, subject: Subject) -> str:
        """Then it is decided anew: what was decided before the server answered is old by now."""
        self._bereft.discard(key)
        await self._executor.confirm(subject)
        self.queue.add(key)
        return "confirmed"

    def _is_stale(self, subject: Subject) -> bool:
        return self._freshness.missing(self._executor.writer_for(subject)) is not None

    def _look_again(self, key: Key) -> str:
        self.queue.add_after(key, LOOK_AGAIN_SECONDS)
        return "stale"

    def _finish(self, key: Key, subject: Subject, plan: Plan, outcome: Outcome) -> str:
        for failure in outcome.failures:
            self._observer.failed(self.reconciler.name, key, failure.error)
        if not outcome.succeeded:
            self.queue.retry(key, outcome.retry_after)
            return "failed"
        self.queue.succeeded(key)
        if outcome.is_given_up:
            self.queue.add(key)
            return "outdated"
        if outcome.is_cut_short:
            self._long.wait_outside(key, subject)
            return "continued"
        self.queue.appoint(key, plan.wake_after)  # what was appointed by an older view is of no use any more
        return "written" if outcome.written else "quiet"

    def _remember(self, key: Key, subject: Subject | None) -> None:
        """What was written for an object that is gone need not be seen any more."""
        known = self._writers.get(key)
        writer = self._executor.writer_for(subject) if subject is not None else None
        if known is not None and known != writer:
            self._freshness.forget(known)
            del self._writers[key]
        if writer is not None:
            self._writers[key] = writer
