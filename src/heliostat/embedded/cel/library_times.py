"""Parts of timestamps (months and most days count from 0) and whole units in durations."""

from collections.abc import Callable

from heliostat.embedded.cel.declarations import Declaration, method
from heliostat.embedded.cel.times import milliseconds, timestamp_part
from heliostat.embedded.cel.values import NANOS, Duration


def _parts(name: str) -> tuple[str, str]:
    return f"timestamp.{name}() -> int", f"timestamp.{name}(string) -> int"


def _units(nanos: int) -> Callable[[Duration], int]:
    def count(duration: Duration) -> int:
        return int(abs(duration.nanos) // nanos * (-1 if duration.nanos < 0 else 1))

    return count


TIMES: list[Declaration] = [
    method(*_parts("getFullYear"), run=timestamp_part(lambda moment: moment.year)),
    method(*_parts("getMonth"), run=timestamp_part(lambda moment: moment.month - 1)),
    method(*_parts("getDayOfYear"), run=timestamp_part(lambda moment: moment.timetuple().tm_yday - 1)),
    method(*_parts("getDayOfMonth"), run=timestamp_part(lambda moment: moment.day - 1)),
    method(*_parts("getDate"), run=timestamp_part(lambda moment: moment.day)),
    method(*_parts("getDayOfWeek"), run=timestamp_part(lambda moment: moment.isoweekday() % 7)),
    method(*_parts("getHours"), run=timestamp_part(lambda moment: moment.hour)),
    method(*_parts("getMinutes"), run=timestamp_part(lambda moment: moment.minute)),
    method(*_parts("getSeconds"), run=timestamp_part(lambda moment: moment.second)),
    method(*_parts("getMilliseconds"), run=milliseconds),
    method("duration.getHours() -> int", run=_units(3_600 * NANOS)),
    method("duration.getMinutes() -> int", run=_units(60 * NANOS)),
    method("duration.getSeconds() -> int", run=_units(NANOS)),
    method("duration.getMilliseconds() -> int", run=_units(1_000_000)),
]
