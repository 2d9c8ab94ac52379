"""Planted bugs of a RayCronJob operator: each is one that an operator has had, or that one step of ours prevents.

The random search must find every one of them by itself, by the law that it breaks.
"""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from msgspec import structs

from heliostat.api.cron_policy import CronPolicy
from heliostat.desired.raycronjob import child
from heliostat.kube.plan import Plan
from heliostat.plan.draft import Draft, wait_for
from heliostat.plan.raycronjob import cron, history, kind, observed
from heliostat.plan.raycronjob.reasons import Hold
from simulation.mutants import Mutant, replaced


def names_are_drawn() -> Any:
    """KubeRay PR 4888 (#4849): a tick that is looked at twice has two RayJobs, as their names say nothing of it."""
    numbers = itertools.count()
    return replaced((child, "child_name", lambda name, _tick: f"{name}-{next(numbers):05d}"))


def a_tick_is_told_before_its_run() -> Any:
    """A crash between the two, or a create that fails, and the tick is lost."""
    add = Draft.add

    def unordered(self: Draft, name: str, part: Any, needs: tuple[str, ...] = ()) -> None:
        add(self, name, part, () if name == "record" else needs)

    return replaced((Draft, "add", unordered))


def only_the_latest_is_made_up_for() -> Any:
    plan_due = cron._plan_due

    def latest(draft: Draft, due: cron.Due) -> Plan:
        return plan_due(draft, structs.replace(due, tick=due.latest(due.now)))

    return replaced((cron, "_plan_due", latest))


def a_suspended_one_goes_on() -> Any:
    plan = cron.plan_cron

    def awake(situation: Any) -> Plan:
        view = situation.observed
        spec = structs.replace(view.cron.spec, suspend=False)
        view = structs.replace(view, cron=structs.replace(view.cron, spec=spec))
        return plan(structs.replace(situation, observed=view))

    return replaced((kind, "plan_cron", awake))


def runs_overlap() -> Any:
    return replaced((cron, "is_active", lambda _job: False))


def what_is_replaced_stays() -> Any:
    plan_child = cron._plan_child
    return replaced((cron, "_plan_child", lambda draft, due, _replaced: plan_child(draft, due, ())))


def it_is_never_too_late() -> Any:
    return replaced((CronPolicy, "starting_deadline", None))


def the_newest_runs_go_first() -> Any:
    beyond = history._beyond

    def newest(jobs: Any, limit: int | None) -> Any:
        kept = list(jobs)
        surplus = len(beyond(kept, limit))
        return sorted(kept, key=observed.tick_of, reverse=True)[:surplus]

    return replaced((history, "_beyond", newest))


def clocks_never_change() -> Any:
    """The offset of the day before is used for ever."""
    read = observed.read_timetable

    def fixed(job: Any) -> Any:
        table = read(job)
        if table is None or table.zone is UTC:
            return table
        offset = datetime(2027, 1, 1, tzinfo=table.zone).utcoffset() or timedelta()
        summer = datetime(2027, 7, 1, tzinfo=table.zone).utcoffset() or timedelta()
        is_winter_next = (job.metadata.creation_timestamp or "") > "2027-08"
        return structs.replace(table, zone=timezone(summer if is_winter_next else offset))

    return replaced((kind, "read_timetable", fixed))


def a_taken_name_holds_the_schedule_up() -> Any:
    def wait(draft: Draft, _due: Any, ref: Any, _found: Any) -> Plan:
        draft.add("child", wait_for(Hold.OLD_CHILD, f"{ref} is not of this RayCronJob", "it is gone"))
        return draft.finish()

    return replaced((cron, "_plan_taken", wait))


def _mutant(plant: Callable[[], Any], *found_by: str, since: int = 0) -> Mutant:
    return Mutant(f"cron-{plant.__name__.replace('_', '-')}", "raycronjobs", plant, found_by, since)


RAY_CRON_MUTANTS = (
    _mutant(names_are_drawn, "K1", since=18),
    _mutant(a_tick_is_told_before_its_run, "K2", since=13),
    _mutant(only_the_latest_is_made_up_for, "K2"),
    _mutant(a_suspended_one_goes_on, "K2"),
    _mutant(runs_overlap, "K2"),
    _mutant(what_is_replaced_stays, "K2", since=37),
    _mutant(it_is_never_too_late, "K2"),
    _mutant(the_newest_runs_go_first, "K2", since=12),
    _mutant(clocks_never_change, "K2", "L1", since=7),
    _mutant(a_taken_name_holds_the_schedule_up, "L1", since=6),
)
