"""Whether a request that failed is worth another try inside its own deadline, and after how long. Pure.

Rules: only what was certainly not carried out, or only read, is tried again; the server's own wish (Retry-After) is
followed, and when it does not fit into the time left the answer is given at once; anything else is tried a few times
with growing pauses. What cannot become better by waiting a moment (credentials, refusals) is not tried again.
"""

from heliostat.kube.backoff import Backoff
from heliostat.runtime.connection import AccessError
from heliostat.runtime.errors import AmbiguousError, ApiError, ThrottledError, UnavailableError

_PAUSES = Backoff(first=0.1, factor=3.0, limit=1.0)
_MOST_TRIES = 3


def decide_retry(error: ApiError, *, is_write: bool, tries: int, seconds_left: float) -> float | None:
    """Seconds to wait before the next try; None: the error is the answer. ``tries`` counts those made."""
    pause = _pause(error, is_write=is_write, tries=tries)
    return pause if pause is not None and pause < seconds_left else None


def _pause(error: ApiError, *, is_write: bool, tries: int) -> float | None:
    if isinstance(error, ThrottledError):
        return error.retry_after
    if isinstance(error, AccessError) or tries >= _MOST_TRIES:
        return None
    if isinstance(error, UnavailableError) or (isinstance(error, AmbiguousError) and not is_write):
        return _PAUSES.delay(tries - 1)
    return None
