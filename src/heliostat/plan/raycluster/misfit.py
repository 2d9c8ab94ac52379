"""A RayCluster that does not match the schema: it is told, and its deletion is not held up for ever.

The API server has let it through, so nobody else tells. Differs from KubeRay: misfit, R1-4.
"""

from typing import Any

from msgspec.structs import replace

from heliostat.api.cluster_features import is_managed_elsewhere
from heliostat.api.raycluster import ObjectMeta
from heliostat.api.validation.scope import SPEC_REASON
from heliostat.api.validation.verdict import event_of
from heliostat.kube.plan import Plan, Wait
from heliostat.kube.problems import Problem
from heliostat.plan.because import Hold
from heliostat.plan.draft import Draft, Part
from heliostat.plan.raycluster.deletion import plan_misfit_deletion


def plan_misfit(metadata: ObjectMeta, spec: Any, misfit: Problem, now: float) -> Plan:
    draft = Draft()
    told = event_of(replace(misfit, problem=str(misfit), reason=SPEC_REASON), metadata.namespace, metadata.name)
    draft.add("refusal", Part(events=(told,), waits=(Wait(Hold.REFUSED, str(misfit), misfit.fix),)))
    if not is_managed_elsewhere(spec):
        draft.add("deletion", plan_misfit_deletion(metadata, now))
    return draft.finish()
