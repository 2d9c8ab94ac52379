"""How many Pods should be at work, and so which to add or to remove. One plan does one of the two.

Rules: never more than the parallelism, nor than completions are missing; without completions nobody is added after the
first success; a suspended Job has none; failures are followed by a wait, per index where those are counted per index;
at most 500 at a time. Where only failed Pods are replaced, one on its way out still has its place.
"""

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from heliostat.embedded.controllers.jobs.backoff import FinishLog, remaining_wait_of_index
from heliostat.embedded.controllers.jobs.census import Census, indexes_of
from heliostat.embedded.controllers.jobs.removal import choose_for_removal
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.embedded.controllers.views.pods import Pod

MOST_AT_A_TIME = 500


class Staffing(Struct, frozen=True):
    remove: tuple[Pod, ...] = ()
    add: int = 0
    indexes: tuple[int, ...] = ()  # of those to add, in an Indexed Job
    wait: float = 0.0  # seconds until (more) Pods may be added; 0: no wait


NO_CHANGE = Staffing()


def decide_staffing(census: Census, awaiting: dict[int, Pod], finishes: FinishLog, now: float) -> Staffing:
    job, active = census.job, len(census.active)
    if job.is_suspended:
        return Staffing(remove=tuple(choose_for_removal(job, census.active, active)))
    wanted = _wanted(census)
    surplus = choose_for_removal(job, census.active, max(0, active - wanted))
    if surplus:
        return Staffing(remove=tuple(surplus[:MOST_AT_A_TIME]))
    missing = wanted - active - (len(census.leaving) if job.replaces_only_failed else 0)
    return _add(census, awaiting, finishes, min(missing, MOST_AT_A_TIME), now) if missing > 0 else NO_CHANGE


def _wanted(census: Census) -> int:
    job, completions = census.job, census.job.spec.completions
    if completions is None:
        return len(census.active) if census.succeeded else job.parallelism
    return max(0, min(completions - census.succeeded, job.parallelism))


def _add(census: Census, awaiting: dict[int, Pod], finishes: FinishLog, count: int, now: float) -> Staffing:
    job = census.job
    wait = 0.0 if job.counts_per_index else finishes.remaining(now)
    if wait > 0:
        return Staffing(wait=wait)
    if not job.is_indexed:
        return Staffing(add=count)
    pending = tuple(islice(_pending_indexes(census, job), count))
    waits = {index: remaining_wait_of_index(awaiting.get(index), now) for index in pending}
    due = tuple(index for index in pending if not waits[index])
    return Staffing(add=len(due), indexes=due, wait=min((wait for wait in waits.values() if wait), default=0.0))


def _pending_indexes(census: Census, job: Job) -> Iterator[int]:
    taken = census.completed_indexes.union(census.failed_indexes).with_indexes(indexes_of(census.active))
    if job.replaces_only_failed:
        taken = taken.with_indexes(indexes_of(census.leaving))
    return taken.missing_below(job.indexes)
