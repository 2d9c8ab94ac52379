"""An upgrade that takes too long is undone, where the RayService asks for that: ``heliostat.dev/upgrade-deadline``.

Its time begins with the condition UpgradeInProgress, and anew with each cluster that an edit in the middle makes; while
requests go back to make way for one it does not count. What was given up is not tried again until the spec is another
one: the condition UpgradeGivenUp says so, with the generation that it is about, and so it survives a restart.
Differs from KubeRay: rayservice-upgrade-deadline.
"""

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.validation.service import UPGRADE_DEADLINE_ANNOTATION, read_seconds
from heliostat.kube.conditions import TRUE, get_condition, remove_condition
from heliostat.kube.timestamps import moment_of
from heliostat.plan.rayservice.clusters import ClusterInputs
from heliostat.plan.rayservice.observed import Look, ObservedService
from heliostat.plan.rayservice.status import UPGRADE, is_true, put_condition

GIVEN_UP, EXCEEDED = "UpgradeGivenUp", "UpgradeDeadlineExceeded"


def find_upgrade_end(observed: ObservedService) -> float | None:
    """When the upgrade that is going on has taken too long, in epoch seconds; None: it may take as long as it takes."""
    text = (observed.service.metadata.annotations or {}).get(UPGRADE_DEADLINE_ANNOTATION, "")
    condition = get_condition(observed.status.get("conditions"), UPGRADE) or {}
    since = moment_of(condition.get("lastTransitionTime"))
    if not text or since is None or not is_true(observed.status, UPGRADE) or is_given_up(observed):
        return None
    pending = observed.find_pending()
    made = moment_of(pending["metadata"].get("creationTimestamp")) if isinstance(pending, dict) else None
    return max(since, made or since) + read_seconds(text)


def is_given_up(observed: ObservedService) -> bool:
    """The spec as it is now."""
    condition = get_condition(observed.status.get("conditions"), GIVEN_UP) or {}
    is_about_it = condition.get("observedGeneration") == (observed.service.metadata.generation or 0)
    return condition.get("status") == TRUE and is_about_it


def give_up_upgrade(look: Look, inputs: ClusterInputs) -> ClusterInputs:
    """The clusters as they are decided about once the upgrade is given up."""
    if inputs.is_pending_routed or not inputs.has_active:
        return inputs  # there is nothing to go back to
    is_back = inputs.is_back or (look.is_incremental and inputs.has_pending)
    return replace(inputs, is_given_up=True, is_back=is_back)


def tell_given_up(status: JsonObject, inputs: ClusterInputs, deadline: str, now: float) -> JsonObject:
    """The status with the condition, as long as it is true of the spec."""
    if not inputs.is_given_up:
        return {**status, "conditions": remove_condition(status["conditions"], GIVEN_UP)}
    condition = get_condition(status["conditions"], GIVEN_UP) or {}
    if condition.get("status") == TRUE and condition.get("observedGeneration") == status["observedGeneration"]:
        return status
    text = (
        f"The upgrade was not over after {deadline}: requests stay with the cluster before it until the spec changes."
    )
    return put_condition(status, GIVEN_UP, TRUE, EXCEEDED, text, now)
