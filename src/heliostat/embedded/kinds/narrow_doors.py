"""What a change through a subresource may touch: everything else stays as it was."""

from collections.abc import Callable
from typing import TypeAlias

from heliostat.embedded.kinds.pods.pod_resize import keep_all_but_sizes
from heliostat.kube.jsontree import JsonObject

Door: TypeAlias = Callable[[JsonObject, JsonObject], JsonObject]


def _only_ephemeral_containers(new: JsonObject, old: JsonObject) -> JsonObject:
    spec = {key: value for key, value in old["spec"].items() if key != "ephemeralContainers"}
    given = (new.get("spec") or {}).get("ephemeralContainers")
    return {**old, "spec": {**spec, "ephemeralContainers": given} if given else spec}


def _pod_status(new: JsonObject, old: JsonObject) -> JsonObject:
    """Of a Pod's metadata its owners stay; what is known for good is not lost when somebody leaves it out."""
    before, status = old.get("status") or {}, new.get("status") or {}
    status = {**status, **_kept(status, before, ("qosClass", "observedGeneration"))}
    seen = {each.get("type"): each for each in before.get("conditions") or ()}
    if status.get("conditions"):
        status["conditions"] = [
            {**each, **_kept(each, seen.get(each.get("type"), {}), ("observedGeneration",))}
            for each in status["conditions"]
        ]
    metadata = {key: value for key, value in new["metadata"].items() if key != "ownerReferences"}
    metadata |= {key: value for key, value in old["metadata"].items() if key == "ownerReferences"}
    return {**old, "metadata": metadata, "status": status}


def _kept(new: JsonObject, old: JsonObject, names: tuple[str, ...]) -> JsonObject:
    return {name: old[name] for name in names if not new.get(name) and old.get(name)}


def _all_but_status(new: JsonObject, old: JsonObject) -> JsonObject:
    return {**new, "status": old.get("status") or {}}


def _everything(new: JsonObject, _old: JsonObject) -> JsonObject:
    return new


DOORS: dict[tuple[str, str], Door] = {
    ("pods", "status"): _pod_status,
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
    """Whether what doors look into are objects and lists of them; anything else is refused when its types are read."""
    spec, status = tree.get("spec"), tree.get("status")
    spec, status = {} if spec is None else spec, {} if status is None else status
    if not isinstance(spec, dict) or not isinstance(status, dict):
        return False
    parts = [spec.get(name) or [] for name in ("containers", "initContainers", "ephemeralContainers")]
    parts.append(status.get("conditions") or [])
    return all(isinstance(part, list) and all(isinstance(each, dict) for each in part) for part in parts)
