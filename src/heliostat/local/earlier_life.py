"""How a supervisor tells a process when the one before it ended: for a while after that its last writes may still land.

The standard library alone and little of that, as in ``supervisor.py``.
"""

from collections.abc import Mapping

EARLIER_LIFE = "HELIOSTAT_EARLIER_LIFE"
_NEVER = "-inf"


def tell_earlier_life(ended: float | None) -> dict[str, str]:
    """For the environment of a process; ``ended`` is on the monotonic clock, None: nobody like it has run before."""
    return {EARLIER_LIFE: _NEVER if ended is None else repr(ended)}


def read_earlier_life(environment: Mapping[str, str]) -> float | None:
    """When the one before it ended, minus infinity when there was none; None when nobody has told."""
    try:
        return float(environment[EARLIER_LIFE])
    except (KeyError, ValueError):
        return None
