"""What became of a plan: which writes failed and how, and what that means for the next reconcile."""

from msgspec import Struct

from heliostat.kube.plan import Action
from heliostat.runtime.errors import ApiError, ThrottledError


class FailedAction(Struct, frozen=True):
    action: Action
    error: Exception
    tag: str = ""  # the kind of failure for the subject's status, from the action's report


class Outcome(Struct, frozen=True):
    written: int = 0
    failures: tuple[FailedAction, ...] = ()
    blocked: tuple[str, ...] = ()  # stages that were not begun, because one they need failed
    is_given_up: bool = False  # in the middle, because something else is wanted by now
    is_cut_short: bool = False  # in the middle, because others have waited for their turn

    @property
    def succeeded(self) -> bool:
        return not self.failures and not self.blocked

    @property
    def has_asked_for_all(self) -> bool:
        """Every stage was begun, and none was left in the middle."""
        return not self.blocked and not self.is_given_up and not self.is_cut_short

    @property
    def retry_after(self) -> float:
        """What the server asked us to wait, in seconds."""
        return max((f.error.retry_after for f in self.failures if isinstance(f.error, ThrottledError)), default=0.0)

    @property
    def bugs(self) -> tuple[Exception, ...]:
        """What no server said: our own mistakes."""
        return tuple(failure.error for failure in self.failures if not isinstance(failure.error, ApiError))
