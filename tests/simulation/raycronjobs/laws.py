"""What must hold for RayCronJobs at every revision. Each law names itself by its id.

K1: one RayJob for a tick, and none for what is no tick. K2: missed ticks, suspension and the policies of annotations.
The ticks come from an oracle of the test's own: it looks at every second that could be one.
"""

from datetime import datetime
from zoneinfo import ZoneInfo

from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.state import State
from simulation.rayclusters.reading import controller_of, is_terminating, name_of, uid_of
from simulation.rayclusters.writes import changed, created
from simulation.raycronjobs.reading import (
    FORBID,
    REPLACE,
    children_ever,
    created_at,
    find_owner,
    has_succeeded,
    is_active,
    last_tick,
    owner_uid,
    policy_of,
    tick_of,
)
from simulation.rayjobs.laws import OVER, phase_of

# Seconds between a decision and the moment its write lands: a deadline, a pause of the whole program.
WRITING_SECONDS = 45.0
EVERY = "@every "


def ticks_of(cron: JsonObject, until: float) -> list[float]:
    """All after its creation: the seconds whose wall clock fits, or every so many of them."""
    spec, begun = cron["spec"], int(created_at(cron))
    if spec["schedule"].startswith(EVERY):
        step = int(spec["schedule"].removeprefix(EVERY).removesuffix("s"))
        return [float(each) for each in range(begun + step, int(until) + 1, step)]
    minutes, hours = spec["schedule"].split()[:2]
    zone, step = ZoneInfo(spec.get("timeZone") or "UTC"), int(minutes.removeprefix("*/"))
    found = []
    for each in range(begun - begun % 60 + 60, int(until) + 1, 60):
        shown = datetime.fromtimestamp(each, zone)
        if shown.minute % step == 0 and hours in ("*", str(shown.hour)):
            found.append(float(each))
    return found


def _born(state: State) -> tuple[JsonObject, JsonObject] | None:
    """A RayJob that was just made, and its RayCronJob."""
    job = created(state, "rayjobs")
    cron = find_owner(state, job) if job is not None and owner_uid(job) else None
    return None if job is None or cron is None else (job, cron)


def _now(state: State) -> float:
    return float(state.beside["now"]())


def one_child_for_a_tick(state: State) -> str | None:
    """K1"""
    born = _born(state)
    if born is None:
        return None
    job, cron = born
    twins = [each for each in children_ever(state, cron) if tick_of(each) == tick_of(job) and each is not job]
    return f"{name_of(twins[0])} and {name_of(job)} are both of one tick" if len(twins) > 0 else None


def a_child_has_its_tick(state: State) -> str | None:
    """K1"""
    born = _born(state)
    if born is None:
        return None
    job, cron = born
    if tick_of(job) > _now(state) + 2 * state.skew:
        return f"{name_of(job)} is made before its tick"
    if tick_of(job) not in ticks_of(cron, tick_of(job)):
        return f"{name_of(job)} is of no tick of {cron['spec']['schedule']}"
    return None


def runs_do_not_overlap(state: State) -> str | None:
    """K2"""
    born = _born(state)
    if born is None or policy_of(born[1], "concurrency-policy") not in (FORBID, REPLACE):
        return None
    job, cron = born
    beside = [each for each in state.all("rayjobs") if owner_uid(each) == uid_of(cron) and each is not job]
    active = [name_of(each) for each in beside if is_active(each)]
    return f"{name_of(job)} is made beside {active}" if active else None


def nothing_starts_too_late(state: State) -> str | None:
    """K2"""
    born = _born(state)
    deadline = policy_of(born[1], "starting-deadline-seconds") if born is not None else ""
    if born is None or not deadline:
        return None
    late = _now(state) - tick_of(born[0]) - int(deadline)
    if late > WRITING_SECONDS + 2 * state.skew:
        return f"{name_of(born[0])} begins {late:.0f} s after its starting deadline"
    return None


def only_surplus_runs_go(state: State) -> str | None:
    """K2"""
    found = changed(state, "rayjobs")
    if found is None or is_terminating(found[1]) or controller_of(found[1]) is None:
        return None
    job, cron = found[1], find_owner(state, found[1])
    is_gone = state.get("rayjobs", job["metadata"]["namespace"], name_of(job)) is None
    if cron is None or not (is_gone or is_terminating(found[0])):
        return None
    if phase_of(job) not in OVER:
        is_fine = policy_of(cron, "concurrency-policy") == REPLACE
        return None if is_fine else f"{name_of(job)} goes while it runs"
    return _find_too_early(state, job, cron)


def _find_too_early(state: State, job: JsonObject, cron: JsonObject) -> str | None:
    told = last_tick(cron)
    if told is None or tick_of(job) > told:
        return f"{name_of(job)} goes, and its tick is not recorded: it would run again"
    limit = policy_of(cron, f"{'successful' if has_succeeded(job) else 'failed'}-jobs-history-limit")
    mates = [each for each in children_ever(state, cron) if has_succeeded(each) == has_succeeded(job)]
    newer = [each for each in mates if tick_of(each) > tick_of(job) and phase_of(each) in OVER]
    if not limit or len(newer) < int(limit):
        return f"{name_of(job)} goes, and only {len(newer)} newer runs are over; the limit is {limit or 'none'}"
    return None


def ticks_are_told_in_order(state: State) -> str | None:
    """K2"""
    found = changed(state, "raycronjobs")
    before, after = (last_tick(found[1]), last_tick(found[0])) if found is not None else (None, None)
    if found is None or before is None or (after is not None and after >= before):
        return None
    return f"{name_of(found[0])} goes back from {before:.0f} to {after}"


def a_told_tick_has_its_child(state: State) -> str | None:
    """K2"""
    found = changed(state, "raycronjobs")
    if found is None or last_tick(found[0]) in (None, last_tick(found[1])):
        return None
    cron, tick = found[0], last_tick(found[0])
    is_picky = policy_of(cron, "concurrency-policy") or policy_of(cron, "starting-deadline-seconds")
    # Two ticks of one minute share a name, and so a RayJob; somebody else's may have the name.
    minutes = {int(tick_of(each)) // 60 for each in children_ever(state, cron)}
    taken = {name_of(each) for each in state.ever("rayjobs") if owner_uid(each) != uid_of(cron)}
    minute = int(tick or 0) // 60
    if is_picky or minute in minutes or f"{name_of(cron)}-{minute}" in taken:
        return None
    return f"{name_of(cron)} tells of the tick {tick:.0f}, and there has been no RayJob of it"


LAWS = (
    one_child_for_a_tick, a_child_has_its_tick, runs_do_not_overlap, nothing_starts_too_late, only_surplus_runs_go,
    ticks_are_told_in_order, a_told_tick_has_its_child,
)  # fmt: skip
