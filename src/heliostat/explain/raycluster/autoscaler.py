"""What the autoscaler has asked for and how far it may still go, read from the spec that it writes to.

It tells no reasons to Kubernetes; its own are in ``ray status`` and in its container's log, which the notes name.
"""

from collections.abc import Iterator

from heliostat.api.raycluster import RayCluster, WorkerGroupSpec
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.explain.explanation import Sentence


def tell_autoscaler(cluster: RayCluster, desired: DesiredCluster) -> tuple[Sentence, ...]:
    groups = {group.name: group for group in desired.groups}
    limits = (_tell_limits(each, groups[each.group_name].replicas) for each in cluster.spec.worker_group_specs or ())
    notes = [note for found in limits for note in found]
    leaving = [name for group in desired.groups for name in group.workers_to_delete]
    if leaving:
        notes.append(Sentence(f"the autoscaler has asked to remove {', '.join(leaving)}"))
    metadata = cluster.metadata
    where = f" -n {metadata.namespace}" if metadata.namespace not in ("", "default") else ""
    command = f"heliostat logs {metadata.name}{where} -c autoscaler"
    return (*notes, Sentence("the autoscaler decides how many workers there are", "", f"its reasons: {command}"))


def _tell_limits(group: WorkerGroupSpec, replicas: int) -> Iterator[Sentence]:
    if group.suspend:
        return
    if group.max_replicas is not None and replicas >= group.max_replicas:
        what = f"group {group.group_name} is at its maxReplicas of {group.max_replicas}"
        yield Sentence(what, "the autoscaler cannot add more", "raise maxReplicas if work is waiting")
    elif replicas == 0:
        yield Sentence(f"group {group.group_name} has no workers now", "nothing has asked for its resources yet")
