"""Looks over the operator's shoulder while it decides: is every plan made from a view that is new enough, and true?

C3: what is deleted may be deleted, by the very view it was decided from. C12: no decision before the view shows what
was answered earlier. X1: nothing that the API server accepts trips the planner.
"""

from typing import Any

from heliostat.kube.objects import Key
from heliostat.kube.plan import Delete, Plan
from heliostat.operator.program import RayOperator
from heliostat.runtime.cache import Cache
from heliostat.runtime.errors import ApiError
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.metrics import Registry
from heliostat.testing.simulation.world import World
from simulation.rayclusters.reasons import View, find_untrue_reason, find_wrong_victims, view_of
from simulation.rayclusters.witness import Answered, Witness

MOST_LOOKS = 600  # at one key in a minute


class Overseer(LoopMetrics):
    """For one life. ``operator`` is set once it is built: it needs its metrics first."""

    operator: RayOperator
    is_alone = True  # nobody else in the same program writes to RayClusters and their Pods

    def __init__(self, world: World, witness: Witness, fence: LeaseFence | None) -> None:
        super().__init__(Registry())
        self._fence = fence
        self._world = world
        self._witness = witness
        self._looks: dict[Key, list[float]] = {}
        self.groups_seen: dict[str, set[str]] = {}  # by UID: what this life can know of removed groups

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        super().planned(controller, key, plan)
        view = view_of(self.operator, key, self._world.state)
        if view is None or (self._fence is not None and not self._fence.is_open):
            return  # nothing of it will be written
        if self.is_alone:
            self._check_freshness(view.uid, view.key)
        self._note(view, plan)
        for problem in (*find_untrue_reason(view, plan), *find_wrong_victims(view, plan)):
            self._world.report(f"C3: {key}: {problem}")

    def reconciled(self, controller: str, key: Key, result: str, seconds: float) -> None:
        """C14: one that turns on the spot is a finding, and not a world that never ends."""
        super().reconciled(controller, key, result, seconds)
        now = self._world.time()
        recent = [time for time in self._looks.get(key, ()) if time > now - 60.0]
        self._looks[key] = [*recent, now]
        if len(recent) >= MOST_LOOKS:
            self._world.report(f"C14: more than {MOST_LOOKS} looks at {key} within a minute")

    def failed(self, controller: str, key: Key, error: Exception) -> None:
        super().failed(controller, key, error)
        if not isinstance(error, ApiError):
            self._world.report(f"X1: a plan of {controller} for {key} broke: {error!r}")

    def _note(self, view: View, plan: Plan) -> None:
        state = self._world.state
        if view.generation < state.acting_on.get(view.uid, 0):
            was = state.acting_on[view.uid]
            self._world.report(f"C12: generation {view.generation} was decided from after generation {was}")
        state.acting_on[view.uid] = view.generation
        self.groups_seen.setdefault(view.uid, set()).update(group["groupName"] for group in view.groups)
        for action in plan.actions():
            if isinstance(action, Delete):
                state.reasons[action.uid] = action.because

    def _check_freshness(self, uid: str, key: Key) -> None:
        caches: dict[str, Cache[Any]] = {cache.kind.resource.plural: cache for cache in self.operator.host.caches}
        for answered in self._witness.answered(uid):
            cache = caches[answered.plural]
            if not _is_shown(cache, key.namespace, answered):
                self._world.report(f"C12: {key} was decided on before the view showed {answered}")


def _is_shown(cache: Cache[Any], namespace: str, answered: Answered) -> bool:
    """A view that is told as refused is unknown to who plans, and so is what it might show."""
    if cache.refused:
        return True
    if not answered.gone:
        return cache.revision >= answered.revision
    item = cache.get(Key(namespace, answered.name))
    return item is None or item.metadata.uid != answered.gone or item.metadata.is_terminating
