"""The watch machine: every row is a state, an answer, and what must follow."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.backoff import Backoff
from heliostat.kube.objects import Metadata, Object
from heliostat.runtime.errors import AmbiguousError, ApiError, ExpiredError, ThrottledError, UnavailableError, error_of
from heliostat.runtime.watch import (
    UNRELATED,
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

BACKOFF = Backoff(first=1.0, factor=2.0, limit=10.0)
PAGES = WatchSettings(streaming=False, backoff=BACKOFF)
STREAM = WatchSettings(streaming=True, backoff=BACKOFF)


def item(name: str, revision: int = 1) -> Object:
    return Object(Metadata(name=name, resource_version=str(revision)))


def machine(settings: WatchSettings = PAGES) -> WatchMachine[Object]:
    return WatchMachine(settings, lambda: 1.0)  # the longest wait


def watching(revision: int = 10, settings: WatchSettings = PAGES) -> WatchMachine[Object]:
    subject = machine(settings)
    if settings.streaming:
        subject.next()
        subject.bookmark(revision, ends_initial=True)
    else:
        subject.page([], revision, "")
    return subject


def test_pages_become_a_view_only_with_the_last_one() -> None:
    subject = machine()
    assert subject.next() == ListPage("")
    assert subject.page([item("a")], 7, "more") is None
    assert subject.next() == ListPage("more")
    assert subject.page([item("b")], 7, "") == Swap([item("a"), item("b")], 7)
    assert subject.next() == OpenWatch(7)


def test_a_streaming_list_becomes_a_view_with_its_last_bookmark() -> None:
    subject = machine(STREAM)
    assert subject.next() == OpenWatch(initial_events=True)
    assert subject.event("ADDED", item("a", 3), 3) is None
    assert subject.bookmark(5, ends_initial=False) is None
    assert subject.bookmark(9, ends_initial=True) == Swap([item("a", 3)], 9)
    assert subject.state is State.WATCHING


def test_a_streaming_list_that_ends_early_is_asked_for_in_pages_from_nothing() -> None:
    subject = machine(STREAM)
    subject.next()
    subject.event("ADDED", item("half", 3), 3)
    subject.ended()
    assert subject.next() == ListPage("")
    assert subject.page([], 9, "") == Swap([], 9)


REFUSALS = [
    error_of(code, b'{"message":"no"}') for code in (400, 401, 403, 404, 405, 406, 409, 410, 415, 422, 500, 502)
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_a_server_without_streaming_lists_is_asked_for_pages_at_once(refusal: ApiError) -> None:
    subject = machine(STREAM)
    subject.next()
    subject.failed(refusal)
    assert subject.next() == ListPage("")


@pytest.mark.parametrize("error", [UnavailableError("away"), ThrottledError("later", 3.0), AmbiguousError("silence")])
def test_a_server_that_says_nothing_about_streaming_lists_is_asked_again_later(error: ApiError) -> None:
    subject = machine(STREAM)
    subject.next()
    subject.failed(error)
    assert isinstance(subject.next(), Pause)
    assert subject.next() == OpenWatch(initial_events=True)


def test_after_some_lists_in_pages_a_streaming_one_is_tried_again() -> None:
    subject = machine(WatchSettings(streaming=True, backoff=BACKOFF, paged_lists=2))
    subject.next()
    subject.failed(error_of(422, b""))
    for _ in range(2):
        assert subject.next() == ListPage("")
        subject.page([], 10, "")
        subject.failed(ExpiredError(410, "Expired", "too old"))
        assert isinstance(subject.next(), Pause)
    assert subject.next() == OpenWatch(initial_events=True)


def test_changes_and_bookmarks_move_the_view() -> None:
    subject = watching(10)
    assert subject.event("ADDED", item("a", 11), 11) == Put(item("a", 11))
    assert subject.event("DELETED", item("a", 12), 12) == Removed(item("a", 12))
    assert subject.bookmark(20, ends_initial=False) == Progress(20)
    subject.ended()
    assert subject.next() == OpenWatch(20)  # at once: the server closes watches all the time


def test_what_was_told_before_is_skipped() -> None:
    subject = watching(10)
    assert subject.event("MODIFIED", item("a", 10), 10) is None
    assert subject.bookmark(9, ends_initial=False) is None
    assert subject.revision == 10


@pytest.mark.parametrize(
    ("settings", "first"), [(PAGES, ListPage("")), (STREAM, OpenWatch(initial_events=True))], ids=["pages", "stream"]
)
def test_an_expired_revision_means_a_new_list(settings: WatchSettings, first: object) -> None:
    subject = watching(10, settings)
    subject.failed(ExpiredError(410, "Expired", "too old"))
    assert isinstance(subject.next(), Pause)
    assert subject.next() == first


def test_an_expired_continue_token_means_the_list_begins_again() -> None:
    subject = machine()
    subject.page([item("a")], 7, "more")
    subject.failed(ExpiredError(410, "Expired", "the continue token is too old"))
    subject.next()
    assert subject.next() == ListPage("")
    assert subject.page([item("b")], 8, "") == Swap([item("b")], 8)


def test_other_failures_go_on_from_where_they_were() -> None:
    subject = watching(10)
    subject.failed(UnavailableError("connection refused"))
    assert subject.next() == Pause(1.0)
    assert subject.next() == OpenWatch(10, is_proof=True)


@pytest.mark.parametrize("proof", ["its end", "a bookmark"])
def test_the_first_watch_after_a_failure_is_short_until_something_is_heard(proof: str) -> None:
    subject = watching(10)
    assert subject.next() == OpenWatch(10)
    for _ in range(2):
        subject.failed(UnavailableError("nothing was heard"))
        subject.next()
        assert subject.next() == OpenWatch(10, is_proof=True)
    if proof == "its end":
        subject.ended()
        assert subject.next() == OpenWatch(10)
    else:
        subject.bookmark(11, ends_initial=False)
        assert subject.next() == OpenWatch(11)


def test_waits_grow_up_to_a_limit_and_any_progress_forgets_them() -> None:
    subject = watching(10)
    waits = []
    for _ in range(6):
        subject.failed(UnavailableError("connection refused"))
        waits.append(subject.next())
    assert waits == [Pause(s) for s in (1.0, 2.0, 4.0, 8.0, 10.0, 10.0)]
    subject.bookmark(11, ends_initial=False)
    subject.failed(UnavailableError("connection refused"))
    assert subject.next() == Pause(1.0)


def test_the_server_may_ask_for_a_longer_wait() -> None:
    subject = watching(10)
    subject.failed(ThrottledError("too many requests", 30.0))
    assert subject.next() == Pause(30.0)


def test_a_list_older_than_the_view_is_refused_until_the_server_really_went_back() -> None:
    subject = watching(100)
    subject.failed(ExpiredError(410, "Expired", "too old"))
    for _ in range(PAGES.refuse_older_lists):
        assert subject.page([item("old")], 50, "") is None
        assert subject.state is State.LISTING
    assert subject.page([item("old")], 50, "") == Swap([item("old")], 50, went_back=True)
    assert subject.revision == 50


def test_a_first_list_older_than_the_lease_is_refused() -> None:
    subject: WatchMachine[Object] = WatchMachine(PAGES, lambda: 1.0, since=100)
    assert subject.page([item("old")], 90, "") is None
    assert subject.page([item("new")], 101, "") == Swap([item("new")], 101)


def refusals(subject: WatchMachine[Object], revision: int) -> int:
    """How often a list of this revision is refused before it is believed."""
    return next(times for times in range(100) if subject.page([], revision, "") is not None)


def test_a_first_list_of_another_store_than_the_leases_is_soon_believed() -> None:
    far, near = 500, UNRELATED + 500
    assert refusals(WatchMachine(PAGES, lambda: 1.0, since=2 * UNRELATED), far) == PAGES.refuse_unrelated_lists
    assert refusals(WatchMachine(PAGES, lambda: 1.0, since=2 * UNRELATED), 2 * near) == 0
    assert refusals(WatchMachine(PAGES, lambda: 1.0, since=near), far) == PAGES.refuse_older_lists


def test_what_was_seen_stands_against_any_older_list_however_old() -> None:
    subject = watching(2 * UNRELATED)
    subject.failed(ExpiredError(410, "Expired", "too old"))
    assert refusals(subject, 500) == PAGES.refuse_older_lists


@given(st.lists(st.tuples(st.sampled_from(["event", "bookmark", "ended", "broken", "expired"]), st.integers(1, 60))))
def test_the_view_never_goes_back_whatever_happens(steps: Sequence[tuple[str, int]]) -> None:
    subject = watching(10)
    errors: dict[str, ApiError] = {"broken": UnavailableError("x"), "expired": ExpiredError(410, "Expired", "x")}
    for name, revision in steps:
        before = subject.revision
        if subject.state is State.LISTING:
            subject.page([], max(before, revision), "")
        elif name == "event":
            change = subject.event("MODIFIED", item("a", revision), revision)
            assert (change is not None) == (revision > before)
        elif name == "bookmark":
            subject.bookmark(revision, ends_initial=False)
        elif name == "ended":
            subject.ended()
        else:
            subject.failed(errors[name])
        assert subject.revision >= before
