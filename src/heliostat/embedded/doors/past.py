"""Objects that are gone, as the ledger tells them."""

from heliostat.embedded.history.ledger import Gone, LedgerError, read_gone, read_timeline
from heliostat.embedded.history.moments import tell_change, tell_last_life
from heliostat.embedded.history.recorder import LEDGER

__all__ = [
    "LEDGER",
    "Gone",
    "LedgerError",
    "read_gone",
    "read_timeline",
    "tell_change",
    "tell_last_life",
]
