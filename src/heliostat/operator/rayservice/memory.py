"""What the operator remembers of RayServices: which configuration Serve took or refused last, and when it was sent.

Losing it repeats a call to Serve at most, and changes no decision.
"""

from heliostat.kube.objects import Key
from heliostat.kube.plan import Effect, Plan
from heliostat.plan.rayservice.observed import Remembered, Sent
from heliostat.plan.rayservice.serving import CONFIGURE
from heliostat.runtime.errors import RefusedError
from heliostat.runtime.outcome import Outcome

CLUSTERS = 2  # that a RayService has at a time


class Memory:
    def __init__(self) -> None:
        self._sent: dict[Key, dict[str, Sent]] = {}
        self._sending: dict[Key, list[tuple[Effect, float]]] = {}

    def remembered(self, key: Key) -> Remembered:
        return Remembered(self._sent.get(key, {}))

    def begun(self, key: Key, plan: Plan, now: float) -> None:
        sending = [each for each in plan.actions() if isinstance(each, Effect) and each.kind == CONFIGURE]
        self._sending[key] = [(effect, now) for effect in sending]

    def ended(self, key: Key, outcome: Outcome) -> bool:
        """The last two clusters that were configured are remembered. The status tells none of it."""
        for effect, at in self._sending.pop(key, []):
            error = next((failure.error for failure in outcome.failures if failure.action is effect), None)
            is_taken = error is None and outcome.has_asked_for_all
            if is_taken or isinstance(error, RefusedError):
                refusal = "" if is_taken else str(error)
                self._note(key, effect, Sent(effect.idempotency_key, at, effect.payload["deployedBefore"], refusal))
        return False

    def _note(self, key: Key, effect: Effect, sent: Sent) -> None:
        cluster = effect.payload["cluster"]
        others = {name: each for name, each in self._sent.get(key, {}).items() if name != cluster}
        self._sent[key] = dict([*others.items(), (cluster, sent)][-CLUSTERS:])

    def forget(self, key: Key) -> None:
        self._sent.pop(key, None)
        self._sending.pop(key, None)
