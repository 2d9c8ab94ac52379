"""What the operator remembers of RayClusters. Losing all of it may delay a decision, and never changes one."""

from collections.abc import Iterable

from msgspec import Struct, structs

from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.objects import Key
from heliostat.kube.plan import Action, Create, Delete, Effect, Patch, WriteStatus
from heliostat.operator.hindrances import keep_words, list_hindrances
from heliostat.plan.raycluster.situation import LastFailure, Remembered
from heliostat.plan.raycluster.status_pacing import PacedPlan
from heliostat.runtime.errors import AmbiguousError, ConflictError, FencedError, ThrottledError
from heliostat.runtime.outcome import FailedAction, Outcome

# What KubeRay keeps in controllers of their own: a cluster whose policies cannot be made is no less ready for that.
_BESIDE = ("NetworkPolicy", "Issuer", "Certificate")


class _Remembered(Struct):
    uid: str
    version: str = ""  # of the RayCluster that the last plan was made for
    remembered: Remembered = Remembered()
    failure_kind: str = ""
    asked_for: frozenset[str] = frozenset()  # the Pods that the plan in hand creates
    moved: frozenset[str] = frozenset()  # the Pods that it creates or deletes


class Memory:
    def __init__(self) -> None:
        self._clusters: dict[Key, _Remembered] = {}

    def recall(self, key: Key, uid: str, version: str, desired: DesiredCluster | None, seen: int = 0) -> Remembered:
        """What is known now; the groups of this spec are known from here on. ``seen``: how new the view of Pods is."""
        known = self._clusters.get(key)
        if known is None or known.uid != uid:
            known = self._clusters[key] = _Remembered(uid, remembered=Remembered(since=seen))
        if known.version != version:
            known.version, known.remembered = version, structs.replace(known.remembered, moves=0)
        remembered = known.remembered
        groups = frozenset(group.name for group in desired.groups) if desired is not None else frozenset()
        if not groups <= remembered.groups_seen:
            known.remembered = structs.replace(remembered, groups_seen=remembered.groups_seen | groups)
        return remembered

    def ended(self, key: Key, outcome: Outcome) -> bool:
        """Keep why the plan failed, for the status to tell. True: that has changed, so the status is out of date.

        That the status itself could not be written is nothing it could tell: it would only be tried again at once.
        """
        known = self._clusters.get(key)
        if known is None:
            return False
        remembered = known.remembered
        outcome = _without_status(outcome)
        failure = _keep_words(remembered.failure, known.failure_kind, outcome)
        hindrances = keep_words(remembered.hindrances, list_hindrances(outcome.failures))
        known.failure_kind = kind_of_failure(outcome)
        unanswered = _still_unanswered(remembered.unanswered, known.asked_for, outcome)
        moves = remembered.moves + bool(known.moved - _pods_of(failure.action for failure in outcome.failures))
        known.remembered = structs.replace(
            remembered, failure=failure, hindrances=hindrances, unanswered=unanswered, moves=moves
        )
        return (failure, hindrances) != (remembered.failure, remembered.hindrances)

    def decided(self, key: Key, pace: PacedPlan) -> None:
        """Keep what has to be known when the plan is over, and until when its status is held back."""
        known = self._clusters[key]
        known.asked_for = _pods_of(action for action in pace.plan.actions() if isinstance(action, Create))
        known.moved = _pods_of(pace.plan.actions())
        known.remembered = structs.replace(known.remembered, held_until=pace.held_until)

    def forget(self, key: Key) -> None:
        self._clusters.pop(key, None)


def _without_status(outcome: Outcome) -> Outcome:
    others = tuple(failure for failure in outcome.failures if not isinstance(failure.action, WriteStatus))
    return outcome if len(others) == len(outcome.failures) else structs.replace(outcome, failures=others)


def _still_unanswered(known: frozenset[str], asked_for: frozenset[str], outcome: Outcome) -> frozenset[str]:
    """Asked for again and answered: known no more. Stages that were not begun have asked for nothing."""
    silent = [
        failure.action
        for failure in outcome.failures
        if isinstance(failure.error, AmbiguousError) and isinstance(failure.action, Create)
    ]
    answered = asked_for if outcome.has_asked_for_all else frozenset()
    return (known - answered) | _pods_of(silent)


def _pods_of(actions: Iterable[Action]) -> frozenset[str]:
    """Those that are created or deleted."""
    moving = (action for action in actions if isinstance(action, Create | Delete))
    return frozenset(action.ref.name for action in moving if action.ref.kind == "Pod")


def failure_of(outcome: Outcome) -> LastFailure | None:
    """The first failure that the status has a reason for, else the first; conflicts are no failures, only news.

    What fails beside the cluster is told as a hindrance alone.
    """
    chosen = _choose(outcome)
    return LastFailure(chosen.tag, str(chosen.error)) if chosen is not None else None


def kind_of_failure(outcome: Outcome) -> str:
    chosen = _choose(outcome)
    return f"{chosen.tag} {type(chosen.error).__name__}" if chosen is not None else ""


def _keep_words(known: LastFailure | None, kind: str, outcome: Outcome) -> LastFailure | None:
    """One kind of failure is told in the words of the first: in each attempt the Pods have other names.

    Other words would be another status, another version of the cluster, other names, and so on for ever.
    """
    is_same = known is not None and kind == kind_of_failure(outcome)
    return known if is_same else failure_of(outcome)


def _choose(outcome: Outcome) -> FailedAction | None:
    failures = [
        failure for failure in outcome.failures if is_worth_telling(failure.error) and not _is_beside(failure.action)
    ]
    return next((failure for failure in failures if failure.tag), failures[0] if failures else None)


def _is_beside(action: Action) -> bool:
    """Of the writes to Secrets only the one that hands a certificate's Secret to its certificate is a patch."""
    if isinstance(action, Effect):
        return False
    return action.ref.kind in _BESIDE or (isinstance(action, Patch) and action.ref.kind == "Secret")


def is_worth_telling(error: Exception) -> bool:
    """Not what is over with the next reconcile: a stale cache, a server that was busy, a lease that moved on."""
    return not isinstance(error, ConflictError | ThrottledError | FencedError)
