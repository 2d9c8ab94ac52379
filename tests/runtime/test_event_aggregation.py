"""Which events are told, as laws and tables; no clock, no API."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.plan import Event, Ref, Regarded
from heliostat.runtime.event_aggregation import EventBook, EventSettings, Moment, Series, build_event, name_of
from heliostat.runtime.reconciler import Subject

SETTINGS = EventSettings(series_seconds=100, refresh_seconds=20, burst=3, refill_seconds=50, most_series=8)
POD = Subject(Ref("v1", "Pod", "default", "a"), "uid-1", "12")
CREATED = Event("Normal", "Created", "Create", "created Pod a")


def at(seconds: float) -> Moment:
    return Moment(seconds, 1_800_000_000 + seconds)


def told(series: Series | None, seconds: float) -> None:
    """As the writer does after a success."""
    assert series is not None
    series.told, series.told_at, series.is_waiting = series.count, seconds, False


def test_a_repetition_joins_the_series_and_its_count_is_told_after_a_while() -> None:
    book = EventBook(SETTINGS)
    first = book.note("job", POD, CREATED, at(0))
    told(first, 0)
    assert book.note("job", POD, CREATED, at(5)) is first
    assert book.note("job", POD, CREATED, at(10)) is first
    assert book.due(19) == []
    assert book.due(20) == [first]
    told(first, 20)
    assert book.due(60) == []


def test_the_last_chance_tells_every_count() -> None:
    book = EventBook(SETTINGS)
    first = book.note("job", POD, CREATED, at(0))
    told(first, 0)
    assert book.due(1, is_last_chance=True) == []
    book.note("job", POD, CREATED, at(1))
    assert book.due(1, is_last_chance=True) == [first]


@pytest.mark.parametrize(
    ("controller", "subject", "event"),
    [
        ("deployment", POD, CREATED),
        ("job", Subject(POD.ref, "uid-2"), CREATED),
        ("job", POD, Event("Warning", "Created", "Create", "created Pod a")),
        ("job", POD, Event("Normal", "Made", "Create", "created Pod a")),
        ("job", POD, Event("Normal", "Created", "Make", "created Pod a")),
        ("job", POD, Event("Normal", "Created", "Create", "created Pod b")),
    ],
)
def test_what_differs_in_anything_is_another_event(controller: str, subject: Subject, event: Event) -> None:
    book = EventBook(SETTINGS)
    first = book.note("job", POD, CREATED, at(0))
    other = book.note(controller, subject, event, at(0))
    assert first is not None
    assert other is not None
    assert other is not first
    assert name_of(other) != name_of(first)


def test_after_a_pause_it_is_a_new_event_with_a_new_name() -> None:
    book = EventBook(SETTINGS)
    first = book.note("job", POD, CREATED, at(0))
    told(first, 0)
    assert book.due(100) == []
    assert len(book) == 0
    later = book.note("job", POD, CREATED, at(100))
    assert first is not None
    assert later is not None
    assert (later.count, name_of(later) == name_of(first)) == (1, False)


def test_a_subject_that_floods_is_limited_and_others_are_not() -> None:
    book = EventBook(SETTINGS)
    notes = [Event("Normal", "Created", "Create", f"created {number}") for number in range(6)]
    assert [book.note("job", POD, note, at(0)) is not None for note in notes[:5]] == [True, True, True, False, False]
    assert book.note("job", Subject(POD.ref, "uid-2"), notes[0], at(0)) is not None
    assert book.note("job", POD, notes[4], at(49)) is None
    assert book.note("job", POD, notes[4], at(51)) is not None
    assert book.note("job", POD, notes[5], at(52)) is None
    assert book.note("job", POD, notes[0], at(52)) is not None  # a repetition takes nothing from the bucket


def test_what_happens_often_does_not_silence_what_happens_for_another_reason() -> None:
    book = EventBook(SETTINGS)
    for number in range(10):
        book.note("job", POD, Event("Normal", "Created", "Create", f"created {number}"), at(0))
    assert book.note("job", POD, Event("Normal", "Created", "Create", "created one more"), at(1)) is None
    assert book.note("job", POD, Event("Warning", "FailedToCreate", "Create", "exceeded quota"), at(1)) is not None
    assert book.note("job", POD, Event("Warning", "Created", "Create", "created, but"), at(1)) is not None


@given(st.lists(st.tuples(st.sampled_from("abcdefghijkl"), st.sampled_from("xyz"), st.floats(0, 60)), max_size=60))
def test_memory_is_bounded_and_no_event_about_a_quiet_subject_is_lost(happened: list[tuple[str, str, float]]) -> None:
    book = EventBook(SETTINGS)
    now = 0.0
    for uid, note, pause in happened:
        now += pause
        book.note("job", Subject(POD.ref, uid), Event("Normal", "R", "A", note), at(now))
        assert len(book) <= SETTINGS.most_series
    assert book.note("job", Subject(POD.ref, "new"), CREATED, at(now)) is not None


@pytest.mark.parametrize(
    ("kind", "name", "stem"),
    [
        ("Pod", "a", "a."),
        ("ClusterRole", "system:node", "clusterrole."),
        ("Pod", "x" * 253, "x" * 236 + "."),
        ("Node", "n1.example.com", "n1.example.com."),
    ],
)
def test_names_are_derived_and_legal(kind: str, name: str, stem: str) -> None:
    series = Series("job", Subject(Ref("v1", kind, "default", name), "uid"), CREATED, at(0))
    again = Series("job", Subject(Ref("v1", kind, "default", name), "uid"), CREATED, at(0))
    assert name_of(series) == name_of(again)
    assert name_of(series).startswith(stem)
    assert len(name_of(series)) <= 253


def test_texts_that_are_too_long_are_cut() -> None:
    event = Event("Normal", "R" * 200, "", "ü" * 2000)
    tree = build_event(Series("job", POD, event, at(0)), "host" * 100)
    assert len(tree["message"].encode()) <= 1024
    assert tree["message"].endswith("ü...")
    assert (len(tree["reason"]), len(tree["action"]), len(tree["reportingInstance"])) == (128, 128, 128)


def test_an_event_names_what_it_is_about_and_what_has_to_do_with_it() -> None:
    other = Regarded(Ref("v1", "Pod", "default", "b"), "uid-2", "13")
    event = Event("Normal", "Preempted", "Preempting", "Preempted by pod uid-2", related=other)
    tree = build_event(Series("scheduler", POD, event, at(0)), "here")
    pod = {"apiVersion": "v1", "kind": "Pod", "namespace": "default"}
    assert tree["involvedObject"] == {**pod, "name": "a", "uid": "uid-1", "resourceVersion": "12"}
    assert tree["related"] == {**pod, "name": "b", "uid": "uid-2", "resourceVersion": "13"}
    assert "related" not in build_event(Series("job", POD, CREATED, at(0)), "here")
