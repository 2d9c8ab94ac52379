"""How many Pods a cluster has and what they ask for together (raycluster.md R5-40, §8.1)."""

from collections.abc import Iterator

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec, WorkerGroupSpec
from heliostat.desired.raycluster.resources import TPU, is_gpu, pod_requests, sum_quantities
from heliostat.kube.quantity import ZERO, Quantity

MAX_INT32 = 2**31 - 1


def clamped_replicas(group: WorkerGroupSpec) -> int:
    """Replicas within min and max; below min counts as min, and a suspended group has none."""
    if group.suspend:
        return 0
    low = group.min_replicas or 0
    high = MAX_INT32 if group.max_replicas is None else group.max_replicas
    return min(max(low, low if group.replicas is None else group.replicas), high)


def hosts(group: WorkerGroupSpec) -> int:
    return 1 if group.num_of_hosts is None else group.num_of_hosts


def active_groups(spec: RayClusterSpec) -> Iterator[WorkerGroupSpec]:
    return (group for group in spec.worker_group_specs or [] if not group.suspend)


def desired_workers(spec: RayClusterSpec) -> int:
    return sum(clamped_replicas(group) * hosts(group) for group in active_groups(spec))


def min_workers(spec: RayClusterSpec) -> int:
    return sum((group.min_replicas or 0) * hosts(group) for group in active_groups(spec))


def max_workers(spec: RayClusterSpec) -> int:
    total = sum(
        (MAX_INT32 if group.max_replicas is None else group.max_replicas) * hosts(group)
        for group in active_groups(spec)
    )
    return max(min(total, MAX_INT32), -MAX_INT32 - 1)


def desired_resources(spec: RayClusterSpec) -> dict[str, Quantity]:
    # KubeRay: replicas are taken as written here, not clamped to min and max (§8.1).
    return _resources(spec, {id(group): group.replicas or 0 for group in active_groups(spec)})


def min_resources(spec: RayClusterSpec) -> dict[str, Quantity]:
    return _resources(spec, {id(group): group.min_replicas or 0 for group in active_groups(spec)})


def describe_totals(spec: RayClusterSpec) -> JsonObject:
    """What a status tells of the spec alone."""
    total = desired_resources(spec)
    gpus = (quantity for name, quantity in total.items() if is_gpu(name))
    return {
        "desiredWorkerReplicas": min(desired_workers(spec), MAX_INT32),
        "minWorkerReplicas": min(min_workers(spec), MAX_INT32),
        "maxWorkerReplicas": max_workers(spec),
        "desiredCPU": str(total.get("cpu", ZERO)),
        "desiredMemory": str(total.get("memory", ZERO)),
        "desiredGPU": str(sum(gpus, start=ZERO)),
        "desiredTPU": str(total.get(TPU, ZERO)),
    }


def _resources(spec: RayClusterSpec, replicas: dict[int, int]) -> dict[str, Quantity]:
    def terms() -> Iterator[tuple[str, Quantity]]:
        yield from pod_requests(spec.head_group_spec.template)
        for group in active_groups(spec):
            count = replicas[id(group)] * hosts(group)
            for name, quantity in pod_requests(group.template):
                yield name, quantity * count

    return sum_quantities(terms())
