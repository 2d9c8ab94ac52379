"""What is tried again: only what cannot happen twice, and only inside the time that is left."""

import pytest

from heliostat.runtime.connection import AccessError
from heliostat.runtime.errors import (
    AmbiguousError,
    ApiError,
    ConflictError,
    FencedError,
    NotFoundError,
    ThrottledError,
    UnavailableError,
)
from heliostat.runtime.retries import decide_retry

UNAVAILABLE, AMBIGUOUS = UnavailableError("no connection"), AmbiguousError("no answer")


@pytest.mark.parametrize(
    ("error", "is_write", "tries", "left", "pause"),
    [
        (ThrottledError("wait", 2.0), False, 1, 5.0, 2.0),
        (ThrottledError("wait", 2.0), True, 1, 5.0, 2.0),
        (ThrottledError("wait", 1.0), True, 4, 1.5, 1.0),  # the deadline alone ends it
        (ThrottledError("wait", 2.0), False, 1, 1.9, None),  # would be too late: say so at once
        (ThrottledError("wait", 2.0), False, 1, 2.0, None),
        (UNAVAILABLE, True, 1, 5.0, 0.1),
        (UNAVAILABLE, True, 2, 5.0, pytest.approx(0.3)),
        (UNAVAILABLE, True, 3, 5.0, None),
        (AMBIGUOUS, False, 1, 5.0, 0.1),
        (AMBIGUOUS, True, 1, 5.0, None),  # it may have been carried out
        (FencedError("not the leader"), True, 1, 5.0, None),
        (ConflictError(409, "Conflict", "older"), True, 1, 5.0, None),
        (NotFoundError(404, "NotFound", "gone"), False, 1, 5.0, None),
        (AccessError("user", "no token", "log in"), False, 1, 5.0, None),
    ],
)
def test_a_failure_is_tried_again_or_told(
    error: ApiError, is_write: bool, tries: int, left: float, pause: float | None
) -> None:
    assert decide_retry(error, is_write=is_write, tries=tries, seconds_left=left) == pause
