"""Is there room for a second cluster? What it asks for beside what nodes have left: said before an upgrade begins.

A sum over all nodes: less than it asks for is certainly too little, more may still be in pieces that are too small. An
upgrade that finds no room waits, and the cluster that serves goes on serving.
"""

from collections.abc import Iterable

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.desired.raycluster.resources import pod_requests, sum_quantities
from heliostat.desired.raycluster.sizes import desired_resources, min_resources
from heliostat.kube.conditions import is_condition_true
from heliostat.kube.quantity import Quantity

_OVER = ("Succeeded", "Failed")
_ZERO = Quantity(0)


def measure_room(objects: Iterable[JsonObject]) -> dict[str, Quantity] | None:
    """What the nodes among these have left beside their Pods; None: no node was read."""
    objects = tuple(objects)
    nodes = [each for each in objects if each.get("kind") == "Node" and _takes_pods(each)]
    if not any(each.get("kind") == "Node" for each in objects):
        return None
    pods = [each for each in objects if each.get("kind") == "Pod" and _holds(each)]
    have = sum_quantities(
        (name, Quantity.parse(value))
        for node in nodes
        for name, value in ((node.get("status") or {}).get("allocatable") or {}).items()
    )
    taken = sum_quantities(term for pod in pods for term in pod_requests(pod))
    return {name: quantity - taken.get(name, _ZERO) for name, quantity in have.items()}


def _takes_pods(node: JsonObject) -> bool:
    is_ready = is_condition_true((node.get("status") or {}).get("conditions"), "Ready")
    return is_ready and not (node.get("spec") or {}).get("unschedulable")


def _holds(pod: JsonObject) -> bool:
    return bool((pod.get("spec") or {}).get("nodeName")) and (pod.get("status") or {}).get("phase") not in _OVER


def tell_lack(spec: RayClusterSpec, room: dict[str, Quantity], *, grows: bool) -> str:
    """What is missing for another cluster of this spec; empty: nothing. ``grows``: it begins with its least workers."""
    needs = min_resources(spec) if grows else desired_resources(spec)
    free = {name: max(room.get(name, _ZERO), _ZERO) for name in needs}
    lacks = [f"needs {needs[name]} {name}, {free[name]} free" for name in sorted(needs) if needs[name] > free[name]]
    return "; ".join(lacks)
