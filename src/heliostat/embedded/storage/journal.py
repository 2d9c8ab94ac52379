"""What makes writes durable, as the store sees it.

Rules: events are appended in the order of their revisions and become durable in that order, so one number says which
are; a journal without room refuses everything that is not durable yet, and takes the next event as if that had never
been; one that does not know what is durable says so once and is not used again. All calls, in both directions, happen
on the event loop's thread. A journal knows nothing of preconditions, readers or watches.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from heliostat.embedded.storage.records import Event
from heliostat.embedded.storage.revisions import Revisions

Refused: TypeAlias = Callable[[BaseException], None]


class Journal(Protocol):
    def open(self, durable: Callable[[int], None], refused: Refused, failed: Refused) -> Revisions:
        """Load everything that is durable.

        From now on tell ``durable(revision)``, ``refused(cause)`` of all that is not, or, once, ``failed(cause)``.
        """

    def append(self, event: Event) -> None:
        """Take an event. It may be durable when this returns, or later, together with others."""

    def compact(self, revision: int, obsolete: Sequence[int]) -> None:
        """Remember that history starts at ``revision``; the records of the ``obsolete`` revisions may go, in time."""

    async def close(self) -> None:
        """Finish what was appended and let go of everything. Harmless when repeated or after a failure."""
