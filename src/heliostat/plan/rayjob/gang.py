"""A RayJob's PodGroup with Volcano: made before the cluster, resized with it, emptied when the job is done with it.

Volcano counts what a group asks for against its queue, so a group of a job that is over must ask for nothing
(operator.md §15.2).
"""

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.resources import format_quantities
from heliostat.desired.raycluster.sizes import desired_resources, desired_workers
from heliostat.desired.rayjob.scheduling import build_job_pod_group, pod_group_name
from heliostat.desired.slots import Impossible
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import VOLCANO_GROUP
from heliostat.kube.plan import Patch, ref_of
from heliostat.plan.because import Hold as CommonHold
from heliostat.plan.draft import NOTHING, Part, wait_for
from heliostat.plan.ensure import create, name_taken, wait_for_knowledge
from heliostat.plan.observing import read_cluster_spec
from heliostat.plan.raycluster.scheduling import resize_group
from heliostat.plan.rayjob.observed import ObservedJob
from heliostat.plan.rayjob.reasons import Because
from heliostat.plan.rayjob.reports import report_scheduler_cleanup


def ensure_gang(observed: ObservedJob, settings: Settings) -> Part:
    wanted = build_job_pod_group(observed.job, settings)
    if wanted is None:
        return NOTHING
    if isinstance(wanted, Impossible):
        return wait_for(CommonHold.IMPOSSIBLE, wanted.message, "the label is corrected")
    found = observed.find(VOLCANO_GROUP, wanted["metadata"]["name"])
    if isinstance(found, Unknown):
        return wait_for_knowledge(str(ref_of(wanted)), found)
    if found is None:
        return create(wanted)
    return resize_group(found, wanted) if observed.owns(found) else name_taken(ref_of(found), observed.owner_kind)


def shrink_gang(observed: ObservedJob, settings: Settings) -> Part:
    """To what its cluster still is; to nothing when the cluster is gone."""
    if settings.batch_scheduler != "volcano":
        return NOTHING
    found = observed.find(VOLCANO_GROUP, pod_group_name(observed.job))
    if isinstance(found, Unknown):
        return wait_for_knowledge("the PodGroup", found)
    if found is None or not observed.owns(found):
        return NOTHING
    part = resize_group(found, {"spec": _size_left(observed)})
    report = report_scheduler_cleanup(f"{observed.job.metadata.namespace}/{observed.job.metadata.name}")
    patches = (action for action in part.actions if isinstance(action, Patch))
    return Part(actions=tuple(replace(patch, report=report, because=Because.RESIZED) for patch in patches))


def _size_left(observed: ObservedJob) -> JsonObject:
    cluster = observed.find_cluster()
    if not isinstance(cluster, dict) or cluster["metadata"].get("deletionTimestamp"):
        return {"minMember": 0, "minResources": {}}
    spec = read_cluster_spec(cluster)
    return {
        "minMember": desired_workers(spec) + 1,
        "minResources": format_quantities(desired_resources(spec)),
    }
