"""Carries plans out: stages in order, writes of a stage side by side, the status last.

Rules: a stage runs when the stages it needs succeeded, so a failure blocks only its dependents; creates start slowly
(1, 2, 4, …), so a server that refuses them is asked once and not a thousand times; every other kind of write goes in
parallel up to a bound; a long plan rests between its writes (``pace.py``); the status is written whatever happened
before, because it was decided from the view; what the plan tells is told when its status stands, so that a repeated
plan does not tell it twice. Crash points are exactly these writes.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Protocol

import msgspec

from heliostat.kube.persisted import PrematureUseError, find_premature_use
from heliostat.kube.plan import SILENT, Action, Create, Delete, Effect, Event, Patch, Plan, Replace, Report, Stage
from heliostat.runtime.errors import ApiError
from heliostat.runtime.outcome import FailedAction, Outcome
from heliostat.runtime.pace import Pace, Seat
from heliostat.runtime.reconciler import Subject
from heliostat.runtime.writing import Writing

DEFAULT_PARALLEL = 64


class Recorder(Protocol):
    """Where events go; it never blocks and never fails."""

    def record(self, subject: Subject, event: Event) -> None: ...


class Executor:
    def __init__(
        self,
        writing: Writing,
        recorder: Recorder,
        *,
        name: str = "",
        parallel: int = DEFAULT_PARALLEL,
        short_plan: int | None = None,
        on_write: Callable[[Action, Exception | None], None] | None = None,
    ) -> None:
        self._writing = writing
        self._recorder = recorder
        self._name = name
        self._parallel = parallel
        self._short_plan = short_plan
        self._on_write = on_write

    def writer_for(self, subject: Subject) -> str:
        """Under which name writes are remembered: two controllers of one object need not wait for each other."""
        return f"{self._name}/{subject.uid}"

    async def settle(self, subject: Subject) -> float:
        """Seconds until it can be known what became of every earlier write; 0: it is known."""
        return await self._writing.settle(self.writer_for(subject))

    async def confirm(self, subject: Subject) -> None:
        """Ask the server itself whether the subject lives; what the view has not seen of it is missed from here on."""
        await self._writing.confirm(self.writer_for(subject), subject.ref, subject.uid)

    async def carry_out(self, subject: Subject, plan: Plan, is_wanted: Callable[[], bool], seat: Seat) -> Outcome:
        """``is_wanted`` is asked in the middle of long plans: whether the plan is still for what the subject says.
        ``seat`` is what a plan needs when it becomes long (``pace.py``).

        Raises PrematureUseError, and does nothing, for a plan that uses a name before it is persisted.
        """
        _check_names(plan)
        failures: list[FailedAction] = []
        failed_stages: set[str] = set()
        blocked: list[str] = []
        pace = Pace(self._short_plan, is_wanted, seat)
        for stage in plan.stages:
            if failed_stages.intersection(stage.needs):
                failed_stages.add(stage.name)
                blocked.append(stage.name)
                continue
            stage_failures = await self._run_stage(subject, stage, pace)
            if stage_failures:
                failed_stages.add(stage.name)
                failures += stage_failures
            if pace.has_ended:
                break
        else:
            failures += await self._conclude(subject, plan, pace)
        written = pace.tried - len(failures)
        return Outcome(written, tuple(failures), tuple(blocked), pace.is_given_up, pace.is_cut_short)

    async def _run_stage(self, subject: Subject, stage: Stage, pace: Pace) -> list[FailedAction]:
        clock = asyncio.get_running_loop().time
        failures: list[FailedAction] = []
        for kind, group in groupby(stage.actions, key=type):
            rest = 0.0
            for batch in _batches(list(group), self._parallel, slow_start=kind is Create):
                if rest:
                    await asyncio.sleep(rest)
                if not pace.goes_on():
                    return failures
                async with pace.turn():
                    begun = clock()
                    failed = await self._run_batch(subject, batch)
                    rest = pace.rest_after(kind, len(batch), clock() - begun)
                failures += failed
                if failed and kind is Create:
                    break  # the rest would be refused as well; the next plan tries again
        return failures

    async def _conclude(self, subject: Subject, plan: Plan, pace: Pace) -> list[FailedAction]:
        """The status, and what the plan tells."""
        failures: list[FailedAction] = []
        if plan.status is not None:
            failures = await self._run_batch(subject, [plan.status])
            pace.tried += 1
        if not failures:
            for event in plan.events:
                self._record(subject, event)
        return failures

    async def _run_batch(self, subject: Subject, actions: Sequence[Action]) -> list[FailedAction]:
        if len(actions) == 1:
            results: list[FailedAction | None] = [await self._run(subject, actions[0])]
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._run(subject, action)) for action in actions]
            results = [task.result() for task in tasks]
        return [failure for failure in results if failure is not None]

    async def _run(self, subject: Subject, action: Action) -> FailedAction | None:
        report = _report_of(action)
        try:
            await self._writing.carry_out(self.writer_for(subject), action)
        except Exception as error:  # noqa: BLE001  one write that fails, even by a bug, must not silence the others
            self._tell(subject, report.failure, report.separator, error)
            if self._on_write is not None:
                self._on_write(action, error)
            return FailedAction(action, error, report.failure_tag)
        for event in (report.success, *report.besides):
            self._tell(subject, event)
        if self._on_write is not None:
            self._on_write(action, None)
        return None

    def _tell(self, subject: Subject, event: Event | None, separator: str = "", error: Exception | None = None) -> None:
        if event is None:
            return
        if error is not None:
            text = str(error) if isinstance(error, ApiError) else f"internal error: {error}"
            event = msgspec.structs.replace(event, note=f"{event.note}{separator}{text}")
        self._record(subject, event)

    def _record(self, subject: Subject, event: Event) -> None:
        other = event.about
        about = Subject(other.ref, other.uid, other.resource_version) if other is not None else subject
        self._recorder.record(about, event)


def _report_of(action: Action) -> Report:
    return action.report if isinstance(action, Create | Patch | Replace | Delete | Effect) else SILENT


def _check_names(plan: Plan) -> None:
    found = find_premature_use(plan)
    if found is not None:
        name, action = found
        raise PrematureUseError(f"{type(action).__name__} ({action.because}) uses {name} before the status shows it")


def _batches(actions: Sequence[Action], parallel: int, *, slow_start: bool) -> Iterator[Sequence[Action]]:
    size, start = (1 if slow_start else parallel), 0
    while start < len(actions):
        yield actions[start : start + size]
        start += size
        size = min(size * 2, parallel)
