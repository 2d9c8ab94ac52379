"""What went wrong when the last plan for a key was carried out, for those whose status shows it.

It is told and nothing is decided from it: forgetting it at a restart costs one attempt, after which it is known again
or over.
"""

from msgspec import Struct

from heliostat.kube.objects import Key, Object
from heliostat.runtime.errors import EndingError
from heliostat.runtime.outcome import Outcome


class Failure(Struct, frozen=True):
    tag: str  # the failure_tag of the action's report
    message: str  # the server's words


class LastFailures:
    def __init__(self) -> None:
        self._failures: dict[Key, Failure] = {}

    def of(self, key: Key) -> Failure | None:
        return self._failures.get(key)

    def note(self, key: Key, outcome: Outcome) -> None:
        """The first failure that has a tag; an attempt without one ends what was before.

        That a namespace which is being deleted takes nothing new is no failure: everything in it goes.
        """
        self._failures.pop(key, None)
        for failure in outcome.failures:
            if failure.tag and not isinstance(failure.error, EndingError):
                self._failures.setdefault(key, Failure(failure.tag, str(failure.error)))

    def forget(self, before: Object | None, after: Object | None) -> None:
        """For the changes of the owners' cache: nothing is kept of those that are gone."""
        if before is not None and after is None:
            self._failures.pop(before.metadata.key, None)
