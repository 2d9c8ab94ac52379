"""What the nodes of this machine say about their Pods: how they are kept apart, and where they get to. Pure."""

from collections.abc import Iterable

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType

NODE = ResourceType("v1", "Node", "nodes", is_namespaced=False)
_OURS = "heliostat.dev/"


def describe_nodes(nodes: Iterable[JsonObject]) -> tuple[str, ...]:
    """Each sentence once: the nodes of one machine say the same."""
    conditions = [each for node in nodes for each in (node.get("status") or {}).get("conditions") or ()]
    return tuple(dict.fromkeys(str(each["message"]) for each in conditions if each["type"].startswith(_OURS)))
