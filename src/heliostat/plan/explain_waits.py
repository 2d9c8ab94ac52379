"""What a plan waits for, as sentences: what each wait means for a person, and whether anything can be done about it.

Waits that only follow from others are left out, and so are Pods that are not ready: they have a module of their own.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.kube.plan import Wait
from heliostat.plan.because import Hold
from heliostat.plan.explanation import Sentence
from heliostat.plan.own_conditions import MENDED_BY_PEOPLE


class Meaning(Struct, frozen=True):
    """``fix`` is empty where what ends the wait is all there is to say."""

    what: str
    fix: str = ""
    verdict: str = ""  # what the whole cluster is, while it waits for this


NOT_READY = "is not ready"

MEANINGS: dict[str, Meaning] = {
    Hold.MANAGED_ELSEWHERE: Meaning(
        "another controller looks after it",
        "ask that controller, or make a RayCluster without spec.managedBy",
        "is left to another controller",
    ),
    Hold.REFUSED: Meaning("the operator refuses the spec", "", "is refused"),
    Hold.BEING_DELETED: Meaning("it is on its way out", "", "is being deleted"),
    Hold.CLEANUP_RUNNING: Meaning("Redis is being emptied first", "", "is being deleted"),
    Hold.SUSPENDING: Meaning("its Pods are being removed", "set spec.suspend to false to resume", "is being suspended"),
    Hold.SUSPENDED: Meaning("it has no Pods on purpose", "set spec.suspend to false to resume it", "is suspended"),
    Hold.RECREATING: Meaning("all Pods are made anew, because the spec changed", "", "is being made anew"),
    Hold.NOT_KNOWN: Meaning("something around it cannot be read", "grant the right to read it, or install its kind"),
    Hold.IMPOSSIBLE: Meaning("a part of it cannot be built from this spec", "change what the message names"),
    Hold.NAME_TAKEN: Meaning("a name that it needs is taken by an object of somebody else"),
    Hold.TOO_MANY: Meaning("there are more objects than there may be"),
    Hold.SERVICE_ACCOUNT_MISSING: Meaning("the ServiceAccount that its Pods run as does not exist"),
    Hold.CLAIM_MISSING: Meaning("the claim that it keeps its data in does not exist"),
    Hold.CERTIFICATES: Meaning("its certificates are not issued yet", "look at cert-manager if this takes minutes"),
    Hold.HEAD_NOT_RESTARTED: Meaning("the head has ended and is not started again"),
    Hold.SEVERAL_HEADS: Meaning("it has several heads"),
    Hold.TERMINATING: Meaning("Pods that are being deleted still hold their places"),
    Hold.AUTOSCALER_CHOOSES: Meaning("the autoscaler has to choose which workers go"),
    Hold.BATCH: Meaning("its Pods are made in several steps"),
    Hold.DUPLICATE_GROUP: Meaning("two worker groups have the same name"),
    Hold.LEFTOVER_PODS: Meaning("Pods of a former spec are left over"),
    Hold.LAST_FAILURE: Meaning("the last attempt failed"),
}
_FOLLOWS = (Hold.BLOCKED, Hold.POD_NOT_READY)
_HARMLESS = (Hold.AUTOSCALER_CHOOSES, Hold.LEFTOVER_PODS)  # what is asked for may run all the same


def tell_waits(waits: Iterable[Wait]) -> tuple[Sentence, ...]:
    """What people can mend first."""
    told = [wait for wait in waits if wait.reason not in _FOLLOWS]
    told.sort(key=lambda wait: wait.reason not in MENDED_BY_PEOPLE)
    return tuple(_tell(wait) for wait in told)


def _tell(wait: Wait) -> Sentence:
    meaning = MEANINGS.get(wait.reason, Meaning(wait.reason))
    if wait.reason == Hold.REFUSED:
        return Sentence(meaning.what, wait.message, wait.until)
    ends = f"this ends when {wait.until}"
    return Sentence(meaning.what, wait.message, f"{meaning.fix}; {ends}" if meaning.fix else ends)


def verdict_of(waits: Iterable[Wait]) -> str:
    """What the waits make of the whole cluster; empty when they say nothing about it."""
    verdicts = (MEANINGS[wait.reason].verdict for wait in waits if wait.reason in MEANINGS)
    return next((verdict for verdict in verdicts if verdict), "")


def is_held_up(waits: Iterable[Wait]) -> bool:
    return any(wait.reason not in _HARMLESS for wait in waits)
