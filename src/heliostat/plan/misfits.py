"""An object that does not match the schema: what is wrong is told, and its deletion is not held up for ever.

The API server has let it through (its CustomResourceDefinition is not ours), so nobody else tells. What runs is left
alone: a spec that cannot be read asks for nothing. Differs from KubeRay: misfit.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.cluster_features import is_managed_elsewhere
from heliostat.api.raycluster import ObjectMeta
from heliostat.api.validation.verdict import event_of
from heliostat.kube.plan import Plan, Wait
from heliostat.kube.problems import Problem
from heliostat.plan.because import Hold
from heliostat.plan.draft import NOTHING, Draft, Part


class MisfitRule(Struct, frozen=True, kw_only=True):
    """What a kind says of it, and how one that is deleted is let go: its metadata is all there is to go by."""

    reason: str
    prefix: str = ""
    release: Callable[[ObjectMeta, float], Part] = lambda _metadata, _now: NOTHING

    def plan(self, metadata: ObjectMeta, spec: Any, misfit: Problem, now: float) -> Plan:
        draft = Draft()
        problem = replace(misfit, problem=f"{self.prefix}{misfit}", reason=self.reason)
        told = event_of(problem, metadata.namespace, metadata.name)
        draft.add("refusal", Part(events=(told,), waits=(Wait(Hold.REFUSED, str(misfit), misfit.fix),)))
        if metadata.deletion_timestamp and not is_managed_elsewhere(spec):
            draft.add("deletion", self.release(metadata, now))
        return draft.finish()
