"""Events live for an hour after they were last seen."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.controllers.plan_world import START, World
from heliostat.embedded.controllers.events_expiry.decision import MOST_AT_ONCE, last_seen
from heliostat.embedded.controllers.events_expiry.reconciler import EventExpiryReconciler
from heliostat.embedded.controllers.views.events import EVENTS
from heliostat.embedded.controllers.views.namespaces import NAMESPACES
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Delete, Plan, Ref
from heliostat.kube.timestamps import format_micro_timestamp, format_timestamp

KEY = Key("", "ns")
HOUR = 3600.0


def event(name: str, **fields: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "ns"}, **fields}


class Diary(World):
    def __init__(self) -> None:
        super().__init__(NAMESPACES, EVENTS)
        self.expiry = EventExpiryReconciler(self.caches)
        self.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})

    def look(self) -> Plan:
        return self.reconcile(self.expiry, KEY)


def ago(seconds: float) -> str:
    return format_timestamp(START - seconds)


@pytest.mark.parametrize(
    ("fields", "age"),
    [
        ({"lastTimestamp": ago(10)}, 10),
        ({"eventTime": format_micro_timestamp(START - 20)}, 20),
        ({"eventTime": ago(20), "lastTimestamp": None, "series": {"count": 2, "lastObservedTime": ago(5)}}, 5),
        ({"eventTime": ago(20), "lastTimestamp": ago(3)}, 3),
        ({"lastTimestamp": "yesterday"}, 0),
        ({}, 0),
    ],
)
def test_when_an_event_was_last_seen(fields: JsonObject, age: float) -> None:
    world = Diary()
    world.add(event("e", **fields))
    (found,) = world.caches.of(EVENTS)
    assert last_seen(found) == START - age


def test_old_ones_go_and_the_next_one_is_waited_for() -> None:
    world = Diary()
    for age in (HOUR, HOUR - 1, HOUR - 100, 0):
        world.add(event(f"e-{age:.0f}", lastTimestamp=ago(age)))
    plan = world.look()
    assert [tree["metadata"]["name"] for tree in world.of("Event")] == ["e-0", "e-3500", "e-3599"]
    assert plan.wake_after == 1
    world.now += 1
    assert world.look().wake_after == 99
    world.now += HOUR
    assert world.look().wake_after is None
    assert world.of("Event") == []


def test_an_event_that_was_seen_again_is_not_the_one_that_expired() -> None:
    world = Diary()
    tree = world.add(event("e", lastTimestamp=ago(HOUR)))
    (delete,) = world.expiry.plan(KEY, world.now).actions()
    assert isinstance(delete, Delete)
    assert (delete.uid, delete.resource_version) == (tree["metadata"]["uid"], tree["metadata"]["resourceVersion"])


def test_so_many_at_once_oldest_first() -> None:
    world = Diary()
    for number in range(MOST_AT_ONCE + 2):
        world.add(event(f"e-{number:03}", lastTimestamp=ago(2 * HOUR - number)))
    assert world.look().wake_after == 1
    assert [tree["metadata"]["name"] for tree in world.of("Event")] == ["e-500", "e-501"]


def test_new_events_wake_nobody_who_waits_anyway() -> None:
    world = Diary()
    woken: list[Key] = []
    events = world.expiry.sources()[1]
    events.changes.subscribe(lambda before, after: woken.extend(events.keys_of(before, after)))
    world.add(event("first"))
    assert woken == [KEY]
    world.look()
    world.add(event("second"))
    world.change(Ref("v1", "Event", "ns", "second"), count=2)
    assert woken == [KEY]
    world.now += 2 * HOUR
    world.look()
    world.add(event("third"))
    assert woken == [KEY, KEY]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3 * 3600), max_size=8), st.integers(0, 3 * 3600))
def test_exactly_the_young_ones_stay(ages: list[int], later: int) -> None:
    world = Diary()
    for number, age in enumerate(ages):
        world.add(event(f"e-{number}", lastTimestamp=ago(age)))
    world.now += later
    plan = world.look()
    left = [age for age in ages if age + later < HOUR]
    assert len(world.of("Event")) == len(left)
    assert plan.wake_after == (max(1.0, HOUR - later - max(left)) if left else None)
    assert world.look().is_empty
