"""What a plan waits for, as sentences: what each wait means for a person, and whether anything can be done about it.

Waits that only follow from others are left out, and so are Pods that are not ready: they have a module of their own.
"""

from collections.abc import Iterable

from heliostat.explain.explanation import Sentence
from heliostat.kube.plan import Wait
from heliostat.plan.because import Hold
from heliostat.plan.own_conditions import is_for_people
from heliostat.plan.reasons import Severity, waiting

NOT_READY = "is not ready"


def tell_waits(waits: Iterable[Wait]) -> tuple[Sentence, ...]:
    """What people can mend first."""
    told = [wait for wait in waits if waiting(wait).severity is not Severity.FOLLOWS]
    told.sort(key=lambda wait: not is_for_people(wait))
    return tuple(_tell(wait) for wait in told)


def _tell(wait: Wait) -> Sentence:
    about = waiting(wait)
    if wait.reason == Hold.REFUSED:
        return Sentence(about.meaning, wait.message, wait.until)
    ends = f"this ends when {wait.until}"
    return Sentence(about.meaning, wait.message, f"{about.fix}; {ends}" if about.fix else ends)


def verdict_of(waits: Iterable[Wait]) -> str:
    """What the waits make of the whole cluster; empty when they say nothing about it."""
    verdicts = (waiting(wait).verdict for wait in waits)
    return next((verdict for verdict in verdicts if verdict), "")


def is_held_up(waits: Iterable[Wait]) -> bool:
    return any(waiting(wait).severity is not Severity.HARMLESS for wait in waits)
