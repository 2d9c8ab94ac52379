"""What the operator remembers of RayServices: which configuration Serve took last, and when it was sent.

Losing it repeats a call to Serve at most, and changes no decision.
"""

from heliostat.kube.objects import Key
from heliostat.kube.plan import Effect, Plan
from heliostat.plan.rayservice.observed import Remembered, Sent
from heliostat.plan.rayservice.serving import CONFIGURE
from heliostat.runtime.outcome import Outcome


class Memory:
    def __init__(self) -> None:
        self._sent: dict[Key, dict[str, Sent]] = {}
        self._sending: dict[Key, tuple[Effect, float]] = {}

    def remembered(self, key: Key) -> Remembered:
        return Remembered(self._sent.get(key, {}))

    def begun(self, key: Key, plan: Plan, now: float) -> None:
        self._sending.pop(key, None)
        for action in plan.actions():
            if isinstance(action, Effect) and action.kind == CONFIGURE:
                self._sending[key] = (action, now)

    def ended(self, key: Key, outcome: Outcome) -> bool:
        """One cluster is configured at a time: with the next one the last is forgotten. The status tells none of it."""
        sending = self._sending.pop(key, None)
        if sending is None or not outcome.has_asked_for_all:
            return False
        effect, at = sending
        if not any(failure.action is effect for failure in outcome.failures):
            sent = Sent(effect.idempotency_key, at, effect.payload["deployedBefore"])
            self._sent[key] = {effect.payload["cluster"]: sent}
        return False

    def forget(self, key: Key) -> None:
        self._sent.pop(key, None)
        self._sending.pop(key, None)
