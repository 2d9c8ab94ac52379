"""The next ticks of a RayCronJob in words, for ``render`` and ``plan``."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

from heliostat.api.cron_ticks import list_ticks
from heliostat.plan.raycronjob.observed import Timetable

SHOWN = 5


def tell_upcoming(timetable: Timetable, now: float) -> Iterator[str]:
    """With the zone's own clock where it differs from UTC."""
    ticks = list(islice(list_ticks(timetable.schedule, now, timetable.zone), SHOWN))
    if not ticks:
        yield "no tick: no day of the next five years fits the schedule"
        return
    yield f"the next {len(ticks)} ticks:"
    for tick in ticks:
        shown = datetime.fromtimestamp(tick, timetable.zone)
        own = "" if timetable.zone is UTC else f" ({shown.isoformat()} in {timetable.zone})"
        yield f"  {datetime.fromtimestamp(tick, UTC).strftime('%a %Y-%m-%dT%H:%M:%SZ')}{own}"
