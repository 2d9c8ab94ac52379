"""What the operator remembers of RayServices: which configuration Serve took last, and when it was sent.

Losing it repeats a call to Serve at most, and changes no decision.
"""

from heliostat.kube.objects import Key
from heliostat.kube.plan import Effect, Plan
from heliostat.plan.rayservice.observed import Remembered, Sent
from heliostat.plan.rayservice.serving import CONFIGURE
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
        sending = self._sending.pop(key, [])
        if not outcome.has_asked_for_all:
            return False
        failed = [failure.action for failure in outcome.failures]
        for effect, at in sending:
            if not any(action is effect for action in failed):
                sent = Sent(effect.idempotency_key, at, effect.payload["deployedBefore"])
                others = {
                    name: each for name, each in self._sent.get(key, {}).items() if name != effect.payload["cluster"]
                }
                self._sent[key] = dict([*others.items(), (effect.payload["cluster"], sent)][-CLUSTERS:])
        return False

    def forget(self, key: Key) -> None:
        self._sent.pop(key, None)
        self._sending.pop(key, None)
