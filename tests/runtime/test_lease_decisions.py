"""Who leads, as a table, and the laws that keep it to one."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliostat.runtime.lease_decisions import (
    TABLE,
    Acquire,
    Lead,
    LeaseSettings,
    LeaseSettingsError,
    LeaseState,
    LeaseStep,
    Lost,
    Pause,
    Read,
    Renew,
    Seen,
    Standing,
    decide,
    hold,
    see,
)
from heliostat.runtime.lease_record import Record

SETTINGS = LeaseSettings(namespace="default", name="operator", identity="me")
OURS, THEIRS, RELEASED = Record(holder="me"), Record(holder="other", lease_seconds=15), Record(holder="")
FOLLOWER = Standing(not_before=0.0)
WAITING = Standing(not_before=102.0)
LEADER = Standing(not_before=102.0, renewed_at=100.0, is_leading=True)
NEW = Standing(not_before=102.0, renewed_at=100.0, leads_from=101.0)


@pytest.mark.parametrize(
    ("seen", "me", "now", "verdict"),
    [
        pytest.param(None, FOLLOWER, 100, Read(), id="never read: read"),
        pytest.param(None, WAITING, 100, Pause(2), id="never read, and the last attempt failed: wait"),
        pytest.param(Seen(None, 100), FOLLOWER, 100, Acquire("there is no lease"), id="absent: create it"),
        pytest.param(Seen(RELEASED, 100), WAITING, 100, Acquire("the lease was released"), id="released: take it now"),
        pytest.param(Seen(OURS, 100), WAITING, 100, Acquire("the lease names us"), id="our lost attempt: take it"),
        pytest.param(Seen(THEIRS, 100), WAITING, 100, Pause(2), id="theirs: wait"),
        pytest.param(Seen(THEIRS, 100), FOLLOWER, 103, Read(), id="theirs: look again"),
        pytest.param(Seen(THEIRS, 86), WAITING, 100, Pause(1), id="theirs and about to expire: wait for that"),
        pytest.param(
            Seen(THEIRS, 85),
            WAITING,
            100,
            Acquire("other has not renewed the lease for its whole duration"),
            id="expired: take it",
        ),
        pytest.param(
            Seen(Record(holder="other", lease_seconds=60), 50), FOLLOWER, 100, Read(), id="a longer lease is respected"
        ),
        pytest.param(
            Seen(Record(holder="other", lease_seconds=1), 90), FOLLOWER, 100, Read(), id="a shorter one is not believed"
        ),
        pytest.param(Seen(OURS, 100, is_current=False), WAITING, 103, Read(), id="content in doubt: read"),
        pytest.param(Seen(OURS, 100), LEADER, 101, Pause(1), id="leader: wait until the renewal is due"),
        pytest.param(Seen(OURS, 100), LEADER, 102, Renew(), id="leader: renew"),
        pytest.param(
            Seen(OURS, 100), LEADER, 110, Lost("the lease was not renewed for 10.0 s"), id="renew deadline passed: lost"
        ),
        pytest.param(Seen(OURS, 100, is_current=False), LEADER, 102, Read(), id="leader in doubt: read"),
        pytest.param(Seen(THEIRS, 101), LEADER, 101, Lost("the lease is held by other"), id="taken: lost"),
        pytest.param(Seen(RELEASED, 101), LEADER, 101, Lost("the lease was released"), id="released by others: lost"),
        pytest.param(Seen(None, 101), LEADER, 101, Lost("there is no lease"), id="deleted: lost"),
        pytest.param(Seen(OURS, 100), NEW, 100.5, Pause(0.5), id="new leader: others' writes may still land"),
        pytest.param(Seen(OURS, 100), NEW, 101, Lead(), id="new leader: begin"),
        pytest.param(Seen(OURS, 100, is_current=False), NEW, 101, Pause(1), id="new leader in doubt: does not begin"),
    ],
)
def test_what_to_do(seen: Seen | None, me: Standing, now: float, verdict: LeaseStep) -> None:
    assert decide(seen, me, now, SETTINGS) == verdict


def test_the_table_has_an_answer_for_everything() -> None:
    assert set(TABLE) == {(sight, holds) for sight in LeaseState for holds in (False, True)}


def test_only_a_change_of_content_is_a_sign_of_life() -> None:
    first = see(None, THEIRS, 10)
    assert see(first, THEIRS, 20) == Seen(THEIRS, 10)
    renewed = Record(holder="other", lease_seconds=15, renew_time="later")
    assert see(first, renewed, 20) == Seen(renewed, 20)


def test_a_first_lease_waits_for_the_writes_of_the_holder_before() -> None:
    taken = hold(Seen(RELEASED, 97), FOLLOWER, 98, SETTINGS, pause=2)
    assert taken == Standing(not_before=100, renewed_at=98, leads_from=97 + SETTINGS.request_seconds)


def test_a_renewal_counts_from_when_it_was_sent_and_changes_nothing_else() -> None:
    assert hold(Seen(OURS, 100), LEADER, 103, SETTINGS, pause=2) == Standing(105, 103, LEADER.leads_from, True)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"identity": ""}, "identity is empty"),
        ({"request_seconds": 5.0}, r"request deadline \(5 s\) must be shorter than .*15 − 10 = 5 s.*shorten requests"),
        ({"request_seconds": 0.0}, "must be more than 0"),
        ({"retry_seconds": 9.0}, "must be longer than 1.2 × retry period"),
        ({"renew_deadline_seconds": 15.0}, "longer than the renew deadline"),
        ({"lease_seconds": 0.9, "renew_deadline_seconds": 0.5, "retry_seconds": 0.1}, "at least 1 s"),
        ({"lease_seconds": math.nan}, "must be finite"),
    ],
)
def test_times_that_do_not_fit_are_refused_with_the_reason(changes: dict[str, float | str], problem: str) -> None:
    with pytest.raises(LeaseSettingsError, match=problem):
        LeaseSettings(**{"namespace": "default", "name": "operator", "identity": "me", **changes})  # type: ignore[arg-type]


MOMENTS = st.floats(0, 1000)
RECORDS = st.sampled_from([None, OURS, THEIRS, RELEASED, Record(holder="other", lease_seconds=60)])
SIGHTS = st.none() | st.builds(Seen, RECORDS, MOMENTS, st.booleans())
STANDINGS = st.builds(Standing, MOMENTS, st.none() | MOMENTS, MOMENTS, st.booleans())


@given(SIGHTS, STANDINGS, MOMENTS)
def test_nobody_begins_or_renews_in_doubt(seen: Seen | None, me: Standing, now: float) -> None:
    if isinstance(decide(seen, me, now, SETTINGS), Lead | Renew):
        assert seen is not None
        assert seen.is_current
        assert seen.record == OURS
        assert me.renewed_at is not None
        assert now < me.renewed_at + SETTINGS.renew_deadline_seconds


@given(SIGHTS, STANDINGS, MOMENTS)
def test_nobody_takes_a_lease_that_others_may_believe_to_hold(seen: Seen | None, me: Standing, now: float) -> None:
    verdict = decide(seen, me, now, SETTINGS)
    if isinstance(verdict, Acquire):
        assert seen is not None
        assert seen.is_current
        others = seen.record is not None and seen.record.holder == "other"
        assert not others or now >= seen.changed_at + SETTINGS.lease_seconds


@example(  # the deadline as a sum is now, as a difference it is not
    Seen(THEIRS, 60.01813262746584, is_current=False),
    Standing(not_before=68.01813262746583, renewed_at=57.51813262746584, leads_from=61.51813262746584),
    67.51813262746583,
)
@given(SIGHTS, STANDINGS, MOMENTS)
def test_every_pause_passes_some_time(seen: Seen | None, me: Standing, now: float) -> None:
    verdict = decide(seen, me, now, SETTINGS)
    if isinstance(verdict, Pause):
        assert verdict.seconds > 0
