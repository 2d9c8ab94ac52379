"""``metrics.k8s.io/v1beta1``, which ``kubectl top`` asks: what Pods and nodes use now, as the node measures it.

Nothing is kept: every request asks the node for its summary, in the kubelet's form (``stats/summary``). A Pod that has
no running container is left out. A node uses what its Pods use. Served only where there is a node to ask.
"""

from collections.abc import AsyncIterator, Callable

import msgspec
from msgspec import Struct

from heliostat.embedded.access.users import User
from heliostat.embedded.refusals import RefusedError, not_found
from heliostat.embedded.server.describing.discovery import Group
from heliostat.embedded.server.errors import method_not_allowed
from heliostat.embedded.server.messages import Answer, Request, Response
from heliostat.embedded.server.nodes.node_backend import SUMMARY, NodeBackend
from heliostat.embedded.server.reading.reads import list_page
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.targets import Target, parse_target
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.kube.timestamps import format_timestamp

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_API_VERSION = f"{GROUP}/{VERSION}"
_SELECTORS = ("labelSelector", "fieldSelector")


def _describe(plural: str, kind: str, *, is_namespaced: bool) -> Resource:
    """For discovery alone."""
    return Resource(
        group=GROUP,
        version=VERSION,
        plural=plural,
        kind=kind,
        is_namespaced=is_namespaced,
        verbs=("get", "list"),
        schema={"type": "object"},
        definitions=lambda _name: {"type": "object"},
    )


METRICS_GROUP = Group(
    GROUP,
    {
        VERSION: (
            _describe("nodes", "NodeMetrics", is_namespaced=False),
            _describe("pods", "PodMetrics", is_namespaced=True),
        )
    },
)


class _Cpu(Struct, frozen=True, rename="camel"):
    usage_nano_cores: int = 0


class _Memory(Struct, frozen=True, rename="camel"):
    working_set_bytes: int = 0


class _Container(Struct, frozen=True):
    name: str
    cpu: _Cpu = _Cpu()
    memory: _Memory = _Memory()


class _PodReference(Struct, frozen=True):
    uid: str


class _Pod(Struct, frozen=True, rename="camel"):
    pod_ref: _PodReference
    containers: tuple[_Container, ...] = ()


class _Summary(Struct, frozen=True):
    pods: tuple[_Pod, ...] = ()
    window: float = 0.0  # seconds that the node has looked at


class MetricsApi:
    def __init__(self, store: Store, pods: Resource, backend: NodeBackend, now: Callable[[], float]) -> None:
        self._store = store
        self._pods = pods
        self._backend = backend
        self._now = now

    async def handle(self, request: Request) -> Answer | None:
        """None: not ours. Whether the user may ask was decided before."""
        target = parse_target(request.path)
        if target is None or (target.group, target.version) != (GROUP, VERSION) or target.subresource:
            return None
        if target.plural not in ("pods", "nodes") or (target.plural == "nodes" and target.namespace):
            return None
        if request.method != "GET" or request.flag("watch"):
            raise method_not_allowed()
        summary = await self._ask(request.user)
        build = self._list_pods if target.plural == "pods" else self._list_nodes
        return self._answer(target, [tree async for tree in build(request, target, summary)])

    async def _ask(self, user: User) -> _Summary:
        """Of the one back end, whichever of its nodes is named."""
        if not await self._backend.is_reachable():
            raise RefusedError(503, "ServiceUnavailable", "the node does not answer, so nobody knows what Pods use")
        asked = Request(method="GET", path=f"/{SUMMARY}", user=user)
        answer = await self._backend.proxy_node({}, SUMMARY, asked)
        if not isinstance(answer, Response) or answer.status != 200:
            raise RefusedError(503, "ServiceUnavailable", "the node does not tell what its Pods use")
        return msgspec.json.decode(answer.body, type=_Summary)

    def _answer(self, target: Target, items: list[JsonObject]) -> Answer:
        kind = "PodMetrics" if target.plural == "pods" else "NodeMetrics"
        if target.name:
            if not items:
                raise not_found(target.plural, GROUP, target.name)
            return Response(200, encode_json(items[0]))
        return Response(
            200, encode_json({"kind": f"{kind}List", "apiVersion": _API_VERSION, "metadata": {}, "items": items})
        )

    async def _select(self, request: Request, target: Target) -> list[JsonObject]:
        query = {key: values for key, values in request.query.items() if key in _SELECTORS}
        plain = msgspec.structs.replace(request, query=query)
        listed = await list_page(self._store, self._pods, target.namespace, plain)
        trees = (msgspec.json.decode(record.body) for record in listed.page.records)
        return [tree for tree in trees if not target.name or tree["metadata"]["name"] == target.name]

    async def _list_pods(self, request: Request, target: Target, summary: _Summary) -> AsyncIterator[JsonObject]:
        used = {pod.pod_ref.uid: pod for pod in summary.pods if pod.containers}
        for tree in await self._select(request, target):
            if (pod := used.get(tree["metadata"]["uid"])) is not None:
                usages = [{"name": each.name, "usage": _usage(_cost(each))} for each in pod.containers]
                yield self._metrics("PodMetrics", tree["metadata"], summary) | {"containers": usages}

    async def _list_nodes(self, _request: Request, target: Target, summary: _Summary) -> AsyncIterator[JsonObject]:
        used = {pod.pod_ref.uid: pod for pod in summary.pods}
        costs: dict[str, tuple[int, int]] = {}
        for record in self._store.page(Scope("pods")).records:
            tree = msgspec.json.decode(record.body)
            pod = used.get(tree["metadata"]["uid"])
            if pod is not None:
                node = tree["spec"].get("nodeName", "")
                costs[node] = _add((costs.get(node, (0, 0)), *map(_cost, pod.containers)))
        for record in self._store.page(Scope("nodes")).records:
            if target.name in ("", record.key.name):
                metadata = msgspec.json.decode(record.body)["metadata"]
                cost = costs.get(record.key.name, (0, 0))
                yield self._metrics("NodeMetrics", metadata, summary) | {"usage": _usage(cost)}

    def _metrics(self, kind: str, metadata: JsonObject, summary: _Summary) -> JsonObject:
        now = format_timestamp(self._now())
        kept = {key: metadata[key] for key in ("name", "namespace", "labels") if key in metadata}
        return {
            "kind": kind,
            "apiVersion": _API_VERSION,
            "metadata": {**kept, "creationTimestamp": now},
            "timestamp": now,
            "window": f"{summary.window:.3f}s",
        }


def _cost(container: _Container) -> tuple[int, int]:
    return container.cpu.usage_nano_cores, container.memory.working_set_bytes


def _add(costs: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    return sum(cpu for cpu, _ in costs), sum(memory for _, memory in costs)


def _usage(cost: tuple[int, int]) -> JsonObject:
    cpu, memory = cost
    return {"cpu": f"{cpu}n", "memory": f"{memory // 1024}Ki"}
