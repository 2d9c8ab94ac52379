"""What a change through a subresource may touch: everything else stays as it was."""

from collections.abc import Callable
from typing import TypeAlias

from heliostat.embedded.kinds.pod_resize import keep_all_but_sizes
from heliostat.kube.jsontree import JsonObject

Door: TypeAlias = Callable[[JsonObject, JsonObject], JsonObject]


def _only_ephemeral_containers(new: JsonObject, old: JsonObject) -> JsonObject:
    spec = {key: value for key, value in old["spec"].items() if key != "ephemeralContainers"}
    given = (new.get("spec") or {}).get("ephemeralContainers")
    return {**old, "spec": {**spec, "ephemeralContainers": given} if given else spec}


def _all_but_status(new: JsonObject, old: JsonObject) -> JsonObject:
    return {**new, "status": old.get("status") or {}}


def _everything(new: JsonObject, _old: JsonObject) -> JsonObject:
    return new


DOORS: dict[tuple[str, str], Door] = {
    ("pods", "ephemeralcontainers"): _only_ephemeral_containers,
    ("pods", "resize"): keep_all_but_sizes,
    ("pods", "binding"): _everything,
    ("pods", "eviction"): _everything,
    ("poddisruptionbudgets.policy", "eviction"): _everything,
    ("namespaces", "finalize"): _all_but_status,
}


def door_of(storage_name: str, subresource: str) -> Door | None:
    door = DOORS.get((storage_name, subresource))
    return None if door is None else lambda new, old: door(new, old) if _is_readable(new) else new


def _is_readable(tree: JsonObject) -> bool:
    """Whether there is a spec with lists of objects in it; anything else is refused when its types are read."""
    spec = tree.get("spec")
    if not isinstance(spec, dict):
        return spec is None
    parts = [spec.get(name) or [] for name in ("containers", "initContainers", "ephemeralContainers")]
    return all(isinstance(part, list) and all(isinstance(each, dict) for each in part) for part in parts)
