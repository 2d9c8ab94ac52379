"""Which RayJobs a RayCronJob makes, and when: KubeRay's table (raycronjob.md §2.1), and what annotations change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from heliostat.api.cron_policy import CONCURRENCY, KEEP_FAILED, KEEP_SUCCESSFUL, STARTING_DEADLINE
from heliostat.kube.timestamps import parse_timestamp
from heliostat.plan.raycronjob.reasons import Hold
from plan.raycronjob.cron_worlds import START, CronWorld, act, begin, cron_tree, plan_world, run

FIRST = "cron-28401125"
LONGEST_SLEEP = 60.0  # seconds


def test_a_tick_makes_one_rayjob_with_the_name_label_and_time_that_kuberay_gives_it() -> None:
    world = act(begin().at(5.5))
    (job,) = world.jobs
    assert job["metadata"]["name"] == FIRST
    assert job["metadata"]["labels"] == {"ray.io/cronjob-name": "cron"}
    assert job["metadata"]["annotations"] == {"ray.io/cronjob-scheduled-timestamp": "2024-01-01T00:05:00Z"}
    assert job["spec"] == world.cron["spec"]["jobTemplate"]
    assert world.last == "2024-01-01T00:05:00Z"
    assert plan_world(world).wake_after == LONGEST_SLEEP


def test_before_its_tick_it_waits_for_exactly_that_long() -> None:
    plan = plan_world(begin().at(4.5))
    assert plan.is_empty
    assert plan.wake_after == 30
    assert [wait.reason for wait in plan.waits] == [Hold.NEXT_TICK]


def test_a_tick_that_is_far_away_is_looked_for_every_minute_because_clocks_are_set_meanwhile() -> None:
    """By a clock that is an hour behind: what waited for an hour would miss the ticks of a clock that was set right."""
    behind = plan_world(begin().at(4 - 60))
    assert behind.is_empty
    assert behind.wake_after == LONGEST_SLEEP


def test_every_missed_tick_is_made_up_for_one_in_each_pass() -> None:
    world = begin().at(16)
    for minutes in (5, 10, 15):
        world = act(world)
        assert world.made[-1] == START + minutes * 60
    assert plan_world(world).wake_after == LONGEST_SLEEP
    assert world.told == ()


def test_what_was_suspended_makes_nothing_says_so_and_makes_up_for_it_later() -> None:
    world = run(begin(suspend=True).at(12))
    assert (world.jobs, world.told) == ((), ("SuspendedRayCronJob",))
    assert plan_world(world).wake_after is None
    assert len(run(world.edit(suspend=False)).jobs) == 2


def test_a_refused_one_says_what_kuberay_says_and_makes_nothing() -> None:
    world = run(structs.replace(begin(), cron=cron_tree(schedule="61 * * * *")).at(12))
    assert (world.jobs, world.told, world.last) == ((), ("InvalidRayCronJobSpec",), "")


def test_a_date_that_never_comes_makes_no_rayjob_and_is_told() -> None:
    """Differs from KubeRay: cron-never."""
    world = run(structs.replace(begin(), cron=cron_tree(schedule="0 0 30 2 *")).at(12))
    assert (world.jobs, world.told) == ((), ("NeverDue",))


def test_two_ticks_of_one_minute_share_a_rayjob() -> None:
    world = structs.replace(begin(), cron=cron_tree(schedule="@every 30s")).at(1.4)
    world = run(world)
    assert len(world.jobs) == 2  # the minute 0 has one, the minute 1 another
    assert world.last == "2024-01-01T00:01:00Z"


def test_a_foreign_rayjob_of_the_name_is_left_alone_told_and_the_schedule_goes_on() -> None:
    """Differs from KubeRay: cron-told."""
    stranger = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": FIRST, "uid": "x"}}
    world = run(structs.replace(begin(), jobs=(stranger,)).at(10))
    assert world.told == ("RayJobNameTaken",)
    assert world.names() == [FIRST, "cron-28401130"]


def test_a_rayjob_of_an_earlier_cron_that_is_on_its_way_out_is_waited_for() -> None:
    leaving = {"name": FIRST, "uid": "x", "deletionTimestamp": "2024-01-01T00:00:00Z"}
    world = structs.replace(begin(), jobs=({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": leaving},)).at(5)
    plan = plan_world(world)
    assert plan.is_empty
    assert [wait.reason for wait in plan.waits] == [Hold.OLD_CHILD]
    assert run(structs.replace(world, jobs=())).names() == [FIRST]


def test_what_is_being_deleted_makes_nothing_more() -> None:
    world = begin().at(5)
    leaving = {**world.cron, "metadata": {**world.cron["metadata"], "deletionTimestamp": "2024-01-01T00:05:00Z"}}
    assert plan_world(structs.replace(world, cron=leaving)).is_empty


class TestPolicies:
    def test_a_tick_older_than_the_starting_deadline_is_missed_and_told(self) -> None:
        world = run(begin({STARTING_DEADLINE: "60"}).at(15.5))
        assert world.made == (START + 900,)
        assert world.told == ("MissSchedule",)

    def test_forbid_leaves_out_what_would_run_beside_another(self) -> None:
        world = run(begin({CONCURRENCY: "Forbid"}).at(5))
        world = run(world.at(10))
        assert world.names() == [FIRST]
        assert world.told == ("JobAlreadyActive",)
        assert len(run(world.finish().at(15)).jobs) == 2

    def test_forbid_makes_up_for_the_latest_of_several_missed_runs_alone(self) -> None:
        world = run(begin({CONCURRENCY: "Forbid"}).at(16))
        assert world.made == (START + 900,)
        assert world.told == ("MissSchedule",)

    def test_replace_takes_the_place_of_the_run_before(self) -> None:
        world = run(run(begin({CONCURRENCY: "Replace"}).at(5)).at(10))
        assert world.names() == ["cron-28401130"]

    def test_replace_never_replaces_the_run_of_its_own_tick(self) -> None:
        crashed = act(begin({CONCURRENCY: "Replace"}).at(5), writes=1)
        assert crashed.last == ""
        assert run(crashed).names() == [FIRST]

    @pytest.mark.parametrize(("key", "status"), [(KEEP_SUCCESSFUL, "SUCCEEDED"), (KEEP_FAILED, "FAILED")])
    def test_history_limits_keep_the_newest_of_their_kind(self, key: str, status: str) -> None:
        world = run(begin({key: "1"}).at(16)).finish(status)
        assert run(world).names() == ["cron-28401135"]
        other = "FAILED" if status == "SUCCEEDED" else "SUCCEEDED"
        assert len(run(run(begin({key: "0"}).at(16)).finish(other)).jobs) == 3

    def test_a_run_whose_tick_is_not_recorded_yet_is_never_deleted_for_the_history(self) -> None:
        """Its name would be free, and the tick would run once more."""
        crashed = act(begin({KEEP_SUCCESSFUL: "0"}).at(5), writes=1).finish()
        assert run(crashed).made == (START + 300,)

    @pytest.mark.parametrize(
        ("key", "value"),
        [(CONCURRENCY, "forbid"), (STARTING_DEADLINE, "-1"), (KEEP_FAILED, "x"), (KEEP_SUCCESSFUL, "9" * 12)],
    )
    def test_a_value_that_means_nothing_is_refused_with_its_place(self, key: str, value: str) -> None:
        plan = plan_world(begin({key: value}).at(5))
        assert plan.is_empty
        assert plan.events[0].reason == "InvalidRayCronJobSpec"
        assert key in plan.waits[0].message

    def test_without_annotations_earlier_runs_decide_nothing(self) -> None:
        assert len(run(begin().at(16)).jobs) == 3


DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(0, 4)),  # a reconcile that dies after so many writes
        st.tuples(st.just("time"), st.integers(1, 900)),
        st.tuples(st.just("over"), st.sampled_from(["SUCCEEDED", "FAILED"])),
        st.tuples(st.just("suspend"), st.booleans()),
    ),
    max_size=25,
)
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        CONCURRENCY: st.sampled_from(["Allow", "Forbid", "Replace"]),
        STARTING_DEADLINE: st.sampled_from(["0", "30", "400"]),
        KEEP_SUCCESSFUL: st.sampled_from(["0", "1"]),
        KEEP_FAILED: st.sampled_from(["0", "2"]),
    },
)
SCHEDULES = st.sampled_from(["* * * * *", "*/5 * * * *", "*/7 * * * *", "@every 20s", "@every 3m"])


def live(world: CronWorld, deeds: list[tuple[str, object]]) -> CronWorld:
    for deed in deeds:
        match deed:
            case ("pass", int(writes)):
                world = act(world, writes)
            case ("time", int(seconds)):
                world = structs.replace(world, now=world.now + seconds)
            case ("over", str(status)):
                world = world.finish(status)
            case ("suspend", bool(value)):
                world = world.edit(suspend=value)
    return run(world.edit(suspend=False), passes=2000)


@given(annotations=ANNOTATIONS, schedule=SCHEDULES, deeds=DEEDS)
def test_k1_whatever_crashes_a_tick_never_has_two_rayjobs(
    annotations: dict[str, str], schedule: str, deeds: list[tuple[str, object]]
) -> None:
    world = live(structs.replace(begin(), cron=cron_tree(annotations, schedule=schedule)), deeds)
    assert len(set(world.made)) == len(world.made)
    if annotations.get(CONCURRENCY) == "Forbid":
        running = [job for job in world.jobs if "status" not in job]
        assert len(running) <= 1


@given(deeds=DEEDS)
def test_k2_without_annotations_every_tick_until_now_has_its_rayjob(deeds: list[tuple[str, object]]) -> None:
    world = live(begin(), deeds)
    due = [START + 300 * number for number in range(1, int((world.now - START) // 300) + 1)]
    assert list(world.made) == due
    assert not set(world.told) & {"MissSchedule", "JobAlreadyActive"}


@given(annotations=ANNOTATIONS, deeds=DEEDS)
def test_a_tick_without_a_rayjob_is_told(annotations: dict[str, str], deeds: list[tuple[str, object]]) -> None:
    world = live(begin(annotations), [deed for deed in deeds if deed[0] != "pass" or deed[1] == 4])
    due = int((world.now - START) // 300)
    is_told = bool(set(world.told) & {"MissSchedule", "JobAlreadyActive"})
    assert (len(world.made) < due) == is_told
    assert due == 0 or parse_timestamp(world.last) == START + due * 300
