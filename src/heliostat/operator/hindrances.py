"""Why writes were refused, in words for the status: the kind of refusal, and what ends it.

Only what the server has refused for good and no ReplicaFailure tells is a hindrance: a server that was busy, or a stale
cache, is over with the next attempt.
"""

from collections.abc import Iterable

from heliostat.kube.plan import Effect
from heliostat.plan.own_conditions import Hindrance
from heliostat.runtime.errors import (
    AlreadyExistsError,
    EndingError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RefusedError,
)
from heliostat.runtime.outcome import FailedAction

# The first row that fits counts: the error, words in its text, the reason, what ends it.
_REFUSALS: tuple[tuple[type[RefusedError], str, str, str], ...] = (
    (EndingError, "", "NamespaceTerminating", "the namespace is gone; a new RayCluster needs another one"),
    (ForbiddenError, "exceeded quota", "QuotaExceeded", "the ResourceQuota allows it, or others make room"),
    (ForbiddenError, " cannot ", "Forbidden", "the operator's role grants this right"),
    (ForbiddenError, "", "Forbidden", "whoever refuses it, a webhook or a policy of the cluster, allows it"),
    (InvalidError, "", "Invalid", "what the message names is corrected in the spec"),
    (AlreadyExistsError, "", "NameTaken", "the object of this name is gone"),
    (NotFoundError, "", "NotServed", "the namespace is there and the server serves this kind"),
)


def list_hindrances(failures: Iterable[FailedAction]) -> tuple[Hindrance, ...]:
    found = (_hindrance_of(failure) for failure in failures if not failure.tag)
    return tuple(hindrance for hindrance in found if hindrance is not None)


def keep_words(known: tuple[Hindrance, ...], found: tuple[Hindrance, ...]) -> tuple[Hindrance, ...]:
    """The same refusal is told in the words of the first time: names and counts in them change at every attempt."""
    words = {_kind_of(hindrance): hindrance for hindrance in known}
    return tuple(words.get(_kind_of(hindrance), hindrance) for hindrance in found)


def _kind_of(hindrance: Hindrance) -> tuple[str, str]:
    return hindrance.reason, hindrance.message.partition(": ")[0]


def _hindrance_of(failure: FailedAction) -> Hindrance | None:
    error, text = failure.error, str(failure.error)
    for kind, words, reason, until in _REFUSALS:
        if isinstance(error, kind) and words in text:
            return Hindrance(reason, f"{_title(failure)}: {text}", until)
    return None


def _title(failure: FailedAction) -> str:
    action = failure.action
    verb = type(action).__name__.lower()
    return verb if isinstance(action, Effect) else f"{verb} {action.ref}"
