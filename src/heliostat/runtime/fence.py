"""The right to write, as a moment in time: asked before every write, given and taken by whoever renews the lease.

Rules: it is open only for so long after the last renewal was *sent* that a write begun at the last moment still ends
before anybody else may lead; once closed, a late renewal does not open it again; asking is one comparison, from any
thread, so a renewal that is stuck closes it as surely as one that is refused.
"""

import math
import threading
from collections.abc import Callable

from heliostat.runtime.errors import FencedError


class LeaseFence:
    """``clock`` is monotone and the same for all threads: ``time.monotonic``, or the time of a virtual loop."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._changing = threading.Lock()
        self._open_until = -math.inf
        self._because = "nobody has made us the leader"

    def check(self) -> None:
        """Raise ``FencedError`` unless it is certain that we lead."""
        late = self._clock() - self._open_until
        if late >= 0:
            raise FencedError(f"not written: {self._describe(late)}")

    @property
    def is_open(self) -> bool:
        return self._clock() < self._open_until

    @property
    def seconds_left(self) -> float:
        """Until it closes by itself; 0 when it is closed."""
        return max(0.0, self._open_until - self._clock())

    def open(self, until: float) -> None:
        with self._changing:
            self._open_until = until

    def extend(self, until: float) -> None:
        """A renewal: longer, if it was not closed meanwhile."""
        with self._changing:
            if self._open_until > -math.inf:
                self._open_until = until

    def close(self, because: str) -> None:
        with self._changing:
            self._open_until = -math.inf
            self._because = because

    def _describe(self, late: float) -> str:
        return self._because if late == math.inf else f"the lease has been in doubt for {late:.1f} s"
