"""What the operator remembers of RayCronJobs: what it has told of a spec. Losing it repeats an event, and no more."""

from msgspec.structs import replace

from heliostat.kube.objects import Key
from heliostat.kube.plan import Event, Plan
from heliostat.operator.kinds import WholeObject
from heliostat.runtime.outcome import Outcome


class Memory:
    def __init__(self) -> None:
        self._told: dict[Key, tuple[str, int, set[Event]]] = {}  # uid, generation, and what was told of them

    def leave_out_told(self, item: WholeObject, plan: Plan) -> Plan:
        """Its RayJobs come and go all the time, and each of them has it looked at."""
        if plan.status is not None or not plan.events:
            return plan  # what is told of a tick is told when the status moves on
        metadata = item.metadata
        known = self._told.get(metadata.key)
        told = known[2] if known is not None and known[:2] == (metadata.uid, metadata.generation) else set()
        self._told[metadata.key] = (metadata.uid, metadata.generation, told | set(plan.events))
        return replace(plan, events=tuple(event for event in plan.events if event not in told))

    def ended(self, _key: Key, _outcome: Outcome) -> bool:
        """The status tells nothing of failures."""
        return False

    def forget(self, key: Key) -> None:
        self._told.pop(key, None)
