"""A RayService that does not match the schema: it is told, and its deletion is not held up for ever.

The API server has let it through, so nobody else tells. What runs is left alone. The clusters of one that is deleted go
after it: the garbage collector sees to them, whatever the spec says. Differs from KubeRay: misfit.
"""

from typing import Any

from msgspec.structs import replace

from heliostat.api.cluster_features import is_managed_elsewhere
from heliostat.api.raycluster import ObjectMeta
from heliostat.api.validation.service import SPEC_PREFIX, SPEC_REASON
from heliostat.api.validation.verdict import event_of
from heliostat.kube.plan import Plan, Wait
from heliostat.kube.problems import Problem
from heliostat.plan.because import Hold
from heliostat.plan.draft import Draft, Part
from heliostat.plan.rayservice.deletion import has_finalizer, release


def plan_misfit(metadata: ObjectMeta, spec: Any, misfit: Problem, _now: float) -> Plan:
    draft = Draft()
    problem = replace(misfit, problem=f"{SPEC_PREFIX}{misfit}", reason=SPEC_REASON)
    told = event_of(problem, metadata.namespace, metadata.name)
    draft.add("refusal", Part(events=(told,), waits=(Wait(Hold.REFUSED, str(misfit), misfit.fix),)))
    if metadata.deletion_timestamp and has_finalizer(metadata) and not is_managed_elsewhere(spec):
        draft.add("finalizer", release(metadata))
    return draft.finish()
