"""Settling an earlier write takes its time, and by then another object may have the name: it is looked at anew."""

import asyncio
from typing import Any

import pytest

from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Ref
from heliostat.runtime.caches import Caches
from heliostat.runtime.controller import Controller
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.queue import WorkQueue
from heliostat.runtime.reconciler import Subject
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import Notebook, eventually

KEY = Key("default", "demo")


class Scene:
    """A reconciler and an executor in one: while a write for the first object is settled, another takes its place."""

    name = "scene"

    def __init__(self, successor: str) -> None:
        self.uid = "first"
        self._successor = successor
        self.planned_for: list[str] = []

    def sources(self) -> tuple[()]:
        return ()

    def subject(self, key: Key) -> Subject | None:
        ref = Ref("v1", "ConfigMap", key.namespace, key.name)
        return Subject(ref, self.uid, "1", 1) if self.uid else None

    def plan(self, key: Key, now: float) -> Plan:
        self.planned_for.append(self.uid)
        return Plan()

    def writer_for(self, subject: Subject) -> str:
        return subject.uid

    async def settle(self, subject: Subject) -> float:
        if subject.uid == "first":
            await asyncio.sleep(1.0)
            self.uid = self._successor
        return 0.0

    async def carry_out(self, _subject: Subject, _plan: Plan, _is_wanted: Any, _take_seat: Any) -> Outcome:
        return Outcome()


@pytest.mark.parametrize(
    ("successor", "results", "planned_for"),
    [
        ("first", ["quiet"], ["first"]),
        ("second", ["outdated", "quiet"], ["second"]),
        ("", ["outdated", "gone"], []),
    ],
    ids=["still the same", "another one", "gone"],
)
def test_nothing_is_planned_for_who_is_not_there_any_more(
    successor: str, results: list[str], planned_for: list[str]
) -> None:
    async def scenario() -> None:
        scene: Any = Scene(successor)
        notebook = Notebook()
        controller = Controller(
            scene,
            scene,
            Freshness(Caches()),
            WorkQueue(chance=lambda: 0.5),
            now=lambda: 0.0,
            workers=1,
            observer=notebook,
        )
        running = asyncio.create_task(controller.run())
        controller.queue.add(KEY)
        await eventually(lambda: notebook.results == results)
        assert scene.planned_for == planned_for
        controller.queue.close()
        await running

    run_virtual(scenario())
