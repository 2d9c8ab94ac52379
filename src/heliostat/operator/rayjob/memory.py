"""What the operator remembers of RayJobs: why Ray did not take a job. Losing it delays a decision and changes none."""

from heliostat.kube.objects import Key
from heliostat.kube.plan import Effect, Plan
from heliostat.plan.rayjob.submission import SUBMIT
from heliostat.runtime.errors import FencedError
from heliostat.runtime.outcome import FailedAction, Outcome


class Memory:
    def __init__(self) -> None:
        self._refusals: dict[Key, str] = {}
        self._offered: set[Key] = set()

    def refusal(self, key: Key) -> str:
        return self._refusals.get(key, "")

    def begun(self, key: Key, plan: Plan) -> None:
        if any(isinstance(action, Effect) and action.kind == SUBMIT for action in plan.actions()):
            self._offered.add(key)

    def ended(self, key: Key, outcome: Outcome) -> bool:
        """Whether something is known now that the status has to tell."""
        if key not in self._offered:
            return False
        self._offered.discard(key)
        before = self.refusal(key)
        found = next((str(failure.error) for failure in outcome.failures if _is_refusal(failure)), "")
        if found:
            self._refusals[key] = before or found  # the first words stay: others would be another message
        else:
            self._refusals.pop(key, None)
        return bool(found) != bool(before)

    def forget(self, key: Key) -> None:
        self._refusals.pop(key, None)
        self._offered.discard(key)


def _is_refusal(failure: FailedAction) -> bool:
    action = failure.action
    return isinstance(action, Effect) and action.kind == SUBMIT and not isinstance(failure.error, FencedError)
