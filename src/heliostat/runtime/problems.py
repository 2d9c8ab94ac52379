"""What went wrong, told once: a problem that comes back unchanged is not told again for a while.

Names and numbers in it may be others: each attempt has a new Pod's name, and takes another time to fail. The last words
about each thing are kept, so that a health check can say why something is not there yet.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from heliostat.runtime.errors import ApiError
from heliostat.runtime.logs import Log

TELL_AGAIN_SECONDS = 60.0
MOST_KEPT = 1000
_PASSING = re.compile(r'"[^"]*"|\d+(\.\d+)?')  # what differs between two attempts at the same


class _Told(Struct, frozen=True):
    text: str
    at: float


class Problems:
    """``clock`` is monotone. What the API said, or did not say in time, is a warning; anything else is a bug."""

    def __init__(self, log: Log, clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._told: dict[str, _Told] = {}

    def note(self, what: str, error: Exception) -> None:
        now, text = self._clock(), str(error) or type(error).__name__
        before = self._told.get(what)
        if before is not None and now - before.at < TELL_AGAIN_SECONDS and _is_alike(before.text, text):
            return
        self._keep(what, _Told(text, now))
        if isinstance(error, ApiError | TimeoutError):
            self._log.warning(what, problem=text)
        else:
            self._log.error(what, error=error)

    def last(self, what: str) -> str | None:
        """From any thread."""
        told = self._told.get(what)
        return None if told is None else told.text

    def _keep(self, what: str, told: _Told) -> None:
        self._told.pop(what, None)
        if len(self._told) >= MOST_KEPT:
            del self._told[next(iter(self._told))]
        self._told[what] = told


def _is_alike(one: str, other: str) -> bool:
    return one == other or _PASSING.sub("", one) == _PASSING.sub("", other)
