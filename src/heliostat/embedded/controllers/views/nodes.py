"""Nodes as the controllers see them: what they offer, whom they turn away, whether they live."""

from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

NODE = ResourceType("v1", "Node", "nodes", is_namespaced=False)


class Taint(Struct, frozen=True, rename="camel", omit_defaults=True):
    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSpec(Struct, frozen=True, rename="camel"):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeCondition(Struct, frozen=True, rename="camel", omit_defaults=True):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None


class NodeStatus(Struct, frozen=True, rename="camel"):
    capacity: dict[str, str | int] = {}
    allocatable: dict[str, str | int] = {}
    conditions: tuple[NodeCondition, ...] = ()
    node_info: dict[str, str] = {}


class Node(Object, frozen=True, rename="camel"):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    def condition(self, type_: str) -> NodeCondition | None:
        return next((found for found in self.status.conditions if found.type == type_), None)


NODES: CachedKind[Node] = CachedKind(NODE, Node)
