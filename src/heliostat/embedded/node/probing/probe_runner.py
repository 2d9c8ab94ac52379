"""Asks the probes of all containers that run on this node, each in its own time, and keeps what they say.

Rules: a run is attended from its first look to its end; a node that comes back goes on from what the Pod's status
says; whoever decides about the Pod hears of it only when its health has changed.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from heliostat.embedded.node import node_events
from heliostat.embedded.node.lifecycle import Health
from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.probing.hooks import PostStartHooks
from heliostat.embedded.node.probing.http_get import Connect
from heliostat.embedded.node.probing.probe_checks import Target, check
from heliostat.embedded.node.probing.probes import (
    ProbeKind,
    ProbeResult,
    Tally,
    build_health,
    count,
    decide_next_check,
    find_probes,
    has_started,
    recall_tallies,
)
from heliostat.embedded.node.shim.journal import Run
from heliostat.kube.plan import Event

_ENDED_BY_DELETION = (ProbeKind.STARTUP, ProbeKind.LIVENESS)


class Listeners(Struct, frozen=True):
    """Who hears what, each time with the UID of the Pod."""

    on_change: Callable[[str], None]
    tell: Callable[[str, Event], None]
    on_problem: Callable[[str, Exception], None]


class _Attended:
    """One run whose probes are asked."""

    def __init__(self, uid: str, target: Target, run: Run, tallies: dict[ProbeKind, Tally]) -> None:
        self.uid = uid
        self.target = target
        self.run = run
        self.tallies = tallies
        self.started = asyncio.Event()
        self.tasks: dict[ProbeKind, asyncio.Task[None]] = {}
        self.note_start()

    def note_start(self) -> None:
        if has_started(self.target.container, self.tallies):
            self.started.set()

    def health(self) -> Health:
        return build_health(self.target.container, self.tallies)


class ProbeRunner:
    def __init__(
        self,
        find_target: Callable[[NodePod, Run], Target | None],
        connect: Connect,
        hooks: PostStartHooks,
        to: Listeners,
    ) -> None:
        """``find_target`` gives what there is to check of a run, None when its sandbox is gone."""
        self._find_target = find_target
        self._connect = connect
        self._hooks = hooks
        self._to = to
        self._attended: dict[str, _Attended] = {}

    def health(self, pod: NodePod, runs: Sequence[Run]) -> Mapping[str, Health]:
        """Of every run, those that nobody has asked yet too."""
        return {run.id: self._health_of(pod, run) for run in runs}

    def _health_of(self, pod: NodePod, run: Run) -> Health:
        attended = self._attended.get(run.id)
        tallies = attended.tallies if attended is not None else recall_tallies(pod, run)
        hook = self._hooks.state(run.id)
        container = pod.container(run.name)
        return build_health(container, tallies, is_set_up=not hook.is_pending, hook_failed=hook.has_failed)

    def attend(self, pod: NodePod, runs: Sequence[Run]) -> None:
        """Begin with what has begun, end with what has ended; asked again, nothing changes."""
        for run in runs:
            if run.is_over:
                self._leave(run.id)
            elif not self._hooks.state(run.id).is_pending:
                self._attend_run(pod, run)
        if pod.metadata.is_terminating:
            for run in runs:
                self._end_deadly(run.id)

    def keep_only(self, uids: Collection[str]) -> None:
        """All other Pods are gone."""
        for id_ in [id_ for id_, attended in self._attended.items() if attended.uid not in uids]:
            self._leave(id_)

    async def close(self) -> None:
        tasks = [task for attended in self._attended.values() for task in attended.tasks.values()]
        for id_ in tuple(self._attended):
            self._leave(id_)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _attend_run(self, pod: NodePod, run: Run) -> None:
        probes = find_probes(pod.container(run.name))
        target = self._find_target(pod, run) if probes and run.id not in self._attended else None
        if target is None:
            return
        attended = _Attended(pod.metadata.uid, target, run, recall_tallies(pod, run))
        self._attended[run.id] = attended
        for kind in probes:
            task = asyncio.create_task(self._ask(attended, kind), name=f"{kind} of {run.id}")
            task.add_done_callback(self._finished)
            attended.tasks[kind] = task

    def _leave(self, id_: str) -> None:
        attended = self._attended.pop(id_, None)
        for task in attended.tasks.values() if attended is not None else ():
            task.cancel()

    def _end_deadly(self, id_: str) -> None:
        """A Pod that is going away is not restarted, so nobody asks whether it should be."""
        attended = self._attended.get(id_)
        for kind in _ENDED_BY_DELETION if attended is not None else ():
            if attended is not None and kind in attended.tasks:
                attended.tasks[kind].cancel()

    def _finished(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._to.on_problem(task.get_name(), error)

    async def _ask(self, attended: _Attended, kind: ProbeKind) -> None:
        if kind is not ProbeKind.STARTUP:
            await attended.started.wait()
        while (wait := self._until_next(attended, kind)) is not None:
            await asyncio.sleep(wait)
            await self._check(attended, kind)

    def _until_next(self, attended: _Attended, kind: ProbeKind) -> float | None:
        container, tallies = attended.target.container, attended.tallies
        return decide_next_check(kind, container, tallies, attended.run.started_at, time.time())

    async def _check(self, attended: _Attended, kind: ProbeKind) -> None:
        probe, begun = find_probes(attended.target.container)[kind], time.time()
        checked = await check(probe, attended.target, self._connect)
        before = attended.health()
        attended.tallies[kind] = count(attended.tallies.get(kind, Tally()), probe, checked.verdict, begun)
        attended.note_start()
        if checked.verdict is not ProbeResult.SUCCESS:
            self._to.tell(attended.uid, node_events.unhealthy(kind, checked.verdict, checked.output))
        if attended.health() != before:
            self._to.on_change(attended.uid)
