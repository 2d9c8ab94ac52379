"""Events on the real API handlers, in virtual time."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from heliostat.kube.plan import Event, Ref
from heliostat.runtime.event_aggregation import EVENT, EventSettings
from heliostat.runtime.events import EventRecorder, EventWriter
from heliostat.runtime.reconciler import Subject
from heliostat.testing.virtual_time import run_virtual
from runtime.small_api import NOON, SmallApi, Wire, small_api

POD = Subject(Ref("v1", "Pod", "default", "a"), "00000000-0000-0000-0000-0000000000aa", "12")
NODE = Subject(Ref("v1", "Node", "", "n1"), "00000000-0000-0000-0000-0000000000bb")
CREATED = Event("Normal", "SuccessfulCreate", "Create", "Created pod: a-x")


class World:
    def __init__(self, api: SmallApi, settings: EventSettings) -> None:
        clock = asyncio.get_running_loop().time
        self.api = api
        self.wire: Wire = api.wire()
        self.told: Counter[str] = Counter()
        self.problems: list[str] = []
        self.writer = EventWriter(
            api.client(self.wire),
            "heliostat-0",
            clock=clock,
            wall_clock=lambda: NOON + clock(),
            told=lambda result: self.told.update([result]),
            on_problem=lambda what, error: self.problems.append(f"{what}: {type(error).__name__}"),
            settings=settings,
        )
        self.recorder: EventRecorder = self.writer.recorder("heliostat.example/job")

    async def events(self, namespace: str = "default") -> list[Any]:
        return await self.api.list(EVENT, namespace)


def in_virtual_time(test: Callable[[World], Awaitable[None]], settings: EventSettings | None = None) -> None:
    async def scenario() -> None:
        async with small_api() as api:
            world = World(api, settings or EventSettings())
            running = asyncio.create_task(world.writer.run())
            await test(world)
            running.cancel()
            await asyncio.wait({running})

    run_virtual(scenario())


def test_an_event_is_created_with_every_field_that_readers_of_either_api_want() -> None:
    async def test(world: World) -> None:
        world.recorder.record(POD, CREATED)
        await asyncio.sleep(1)
        (event,) = await world.events()
        metadata = event.pop("metadata")
        assert metadata["name"].startswith("a.")
        assert event == {
            "eventTime": "2027-01-15T08:00:00.000000Z",
            "firstTimestamp": "2027-01-15T08:00:00Z",
            "lastTimestamp": "2027-01-15T08:00:00Z",
            "count": 1,
            "source": {"component": "heliostat.example/job"},
            "reportingComponent": "heliostat.example/job",
            "reportingInstance": "heliostat-0",
            "action": "Create",
            "reason": "SuccessfulCreate",
            "involvedObject": {
                "kind": "Pod",
                "namespace": "default",
                "name": "a",
                "uid": POD.uid,
                "apiVersion": "v1",
                "resourceVersion": "12",
            },
            "message": "Created pod: a-x",
            "type": "Normal",
        }
        assert world.told == {"created": 1}

    in_virtual_time(test)


def test_an_event_that_names_its_reporter_is_told_in_that_name() -> None:
    """One controller of ours may do the work of several, which people know by their names."""

    async def test(world: World) -> None:
        world.recorder.record(POD, CREATED)
        world.recorder.record(POD, replace(CREATED, reporter="heliostat.example/side"))
        await asyncio.sleep(1)
        reporters = sorted(event["reportingComponent"] for event in await world.events())
        assert reporters == ["heliostat.example/job", "heliostat.example/side"]

    in_virtual_time(test)


def test_a_plan_that_repeats_itself_is_told_once_and_counted_now_and_then() -> None:
    async def test(world: World) -> None:
        for _ in range(50):  # every two seconds
            world.recorder.record(POD, CREATED)
            await asyncio.sleep(2)
        (event,) = await world.events()
        assert event["series"] == {"count": 31, "lastObservedTime": "2027-01-15T08:01:00.000000Z"}
        assert len(world.wire.calls) == 2
        await asyncio.sleep(60)
        (event,) = await world.events()
        assert event["series"] == {"count": 50, "lastObservedTime": "2027-01-15T08:01:38.000000Z"}
        assert (event["firstTimestamp"], event["lastTimestamp"], event["count"]) == (
            "2027-01-15T08:00:00Z",
            "2027-01-15T08:01:38Z",
            50,
        )
        assert world.told == {"created": 1, "repeated": 49, "patched": 2}
        await asyncio.sleep(400)
        world.recorder.record(POD, CREATED)
        await asyncio.sleep(1)
        assert len(await world.events()) == 2

    in_virtual_time(test)


def test_an_event_about_something_without_a_namespace_goes_to_default() -> None:
    async def test(world: World) -> None:
        world.recorder.record(NODE, CREATED)
        await asyncio.sleep(1)
        (event,) = await world.events("default")
        assert event["involvedObject"] == {"kind": "Node", "name": "n1", "uid": NODE.uid, "apiVersion": "v1"}

    in_virtual_time(test)


def test_a_lost_answer_does_not_double_the_event() -> None:
    async def test(world: World) -> None:
        world.wire.loses_answers = True
        world.recorder.record(POD, CREATED)
        await asyncio.sleep(0.5)
        world.wire.loses_answers = False
        await asyncio.sleep(5)
        assert len(await world.events()) == 1
        assert world.told == {"created": 1}

    in_virtual_time(test)


def test_an_event_that_expired_over_there_is_created_anew_with_its_count() -> None:
    async def test(world: World) -> None:
        world.recorder.record(POD, CREATED)
        await asyncio.sleep(1)
        (event,) = await world.events()
        metadata = event["metadata"]
        await world.api.client().delete(EVENT, "default", metadata["name"], uid=metadata["uid"])
        world.recorder.record(POD, CREATED)
        await asyncio.sleep(90)
        (event,) = await world.events()
        assert event["series"]["count"] == 2

    in_virtual_time(test)


def test_a_server_that_is_away_costs_events_and_nothing_else() -> None:
    async def test(world: World) -> None:
        world.wire.is_cut = True
        for number in range(30):
            world.recorder.record(Subject(POD.ref, f"uid-{number}"), CREATED)
        assert world.told["dropped"] == 20
        await asyncio.sleep(120)
        assert world.told["failed"] == 10
        world.wire.is_cut = False
        world.recorder.record(Subject(POD.ref, "uid-0"), CREATED)
        await asyncio.sleep(1)
        assert len(await world.events()) == 1

    in_virtual_time(test, EventSettings(most_waiting=10))


def test_an_event_that_the_server_refuses_is_counted_once() -> None:
    async def test(world: World) -> None:
        world.recorder.record(Subject(Ref("v1", "Pod", "nowhere", "a"), "uid"), CREATED)
        world.writer.recorder("no name of a controller").record(POD, CREATED)
        await asyncio.sleep(30)
        assert world.told == {"refused": 2}
        assert len(world.wire.calls) == 2

    in_virtual_time(test)


def test_text_that_cannot_be_encoded_does_not_raise() -> None:
    async def test(world: World) -> None:
        world.recorder.record(POD, Event("Normal", "R", "A", "half a \ud800 character"))
        await asyncio.sleep(1)
        (event,) = await world.events()
        assert event["message"] == r"half a \ud800 character"

    in_virtual_time(test)


def test_the_end_tells_the_counts() -> None:
    async def test(world: World) -> None:
        world.recorder.record(POD, CREATED)
        await asyncio.sleep(1)
        world.recorder.record(POD, CREATED)
        world.recorder.record(NODE, CREATED)
        await world.writer.flush(5)
        assert sorted(event.get("series", {}).get("count", 1) for event in await world.events()) == [1, 2]

    in_virtual_time(test)


def test_the_end_does_not_wait_for_ever() -> None:
    async def test(world: World) -> None:
        world.wire.delay = 3.0
        for number in range(100):
            world.recorder.record(Subject(POD.ref, f"uid-{number}"), CREATED)
        begun = asyncio.get_running_loop().time()
        await world.writer.flush(5)
        assert asyncio.get_running_loop().time() - begun == 5
        assert world.told["dropped"] > 0

    in_virtual_time(test)


def test_an_event_that_trips_its_writing_is_told_and_trips_nothing_else() -> None:
    async def test(world: World) -> None:
        broken: Any = Event("Normal", "Odd", "Do", 7)  # type: ignore[arg-type]
        world.recorder.record(POD, broken)
        world.recorder.record(POD, CREATED)
        await asyncio.sleep(5)
        assert world.told["failed"] == 1
        assert world.problems == ["the writing of an event: TypeError"]
        assert [event["reason"] for event in await world.events()] == ["SuccessfulCreate"]

    in_virtual_time(test)
