"""Shared memory for the object store, and the log directory that sidecars read (constants.md §5.3)."""

from heliostat.api.markers import JsonObject
from heliostat.desired.containers import add_mount, add_volume_once, has_mount_at
from heliostat.desired.raycluster.resources import quantity_of

_SHARED_MEMORY = "shared-mem"
_RAY_LOGS = "ray-logs"
_SHARED_MEMORY_PATH = "/dev/shm"  # noqa: S108 - paths inside the container
_RAY_LOGS_PATH = "/tmp/ray"  # noqa: S108


def add_shared_memory(pod_spec: JsonObject, params: dict[str, str]) -> None:
    container = pod_spec["containers"][0]
    if "plasma-directory" in params or has_mount_at(container, _SHARED_MEMORY_PATH):
        return
    memory: JsonObject = {"medium": "Memory"}
    size = _memory_size(container)
    if size is not None:
        memory["sizeLimit"] = size
    add_volume_once(pod_spec, {"name": _SHARED_MEMORY, "emptyDir": memory})
    add_mount(container, {"name": _SHARED_MEMORY, "mountPath": _SHARED_MEMORY_PATH})


def _memory_size(container: JsonObject) -> str | None:
    resources = container.get("resources") or {}
    for source in ("limits", "requests"):
        quantity = quantity_of(resources.get(source), "memory")
        if quantity is not None:
            return str(quantity)
    return None


def share_ray_logs(pod_spec: JsonObject, *containers: JsonObject) -> None:
    """Mount the log directory where it is not mounted yet; the volume comes with the first mount really added."""
    for container in containers:
        if not has_mount_at(container, _RAY_LOGS_PATH):
            add_volume_once(pod_spec, {"name": _RAY_LOGS, "emptyDir": {}})
            add_mount(container, {"name": _RAY_LOGS, "mountPath": _RAY_LOGS_PATH})
