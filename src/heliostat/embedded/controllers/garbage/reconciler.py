"""The wiring of garbage collection: every resource that can be listed, watched and deleted feeds one graph."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from heliostat.embedded.controllers.garbage.decision import LOOK_FOR_OWNER, plan_garbage
from heliostat.embedded.controllers.garbage.graph import Graph, Node
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Effect, Plan
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.runtime.cache import Cache
from heliostat.runtime.client import Client
from heliostat.runtime.errors import NotFoundError
from heliostat.runtime.reconciler import Signal, Source, Subject, signalled, subject_of

UNCOLLECTED = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})


class GarbageCollector:
    """Resources come and go with their definitions, while it runs."""

    name = "garbage-collector-controller"

    def __init__(self, types: ResourceTypes) -> None:
        self.graph = Graph()
        self._types = types
        self._concerned = Signal()

    def sources(self) -> Sequence[Source]:
        return (Source(self._concerned, signalled),)

    def join(self, resource: ResourceType, cache: Cache[Any]) -> None:
        """Collect among the objects of this resource too."""
        self._types.add(resource)
        cache.subscribe(lambda before, after: self._changed(resource, cache, before, after))

    def leave(self, resource: ResourceType, cache: Cache[Any]) -> None:
        """The resource is no longer served, and its objects went with it."""
        for key in cache.known_keys():
            self._tell(self.graph.remove(Key(key.namespace, key.name, str(resource))))

    def subject(self, key: Key) -> Subject | None:
        node = self.graph.at(key)
        if node is None:
            return None
        return subject_of(Object(node.metadata), node.resource.api_version, node.resource.kind)

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  garbage knows no time
        node = self.graph.at(key)
        return plan_garbage(node, self.graph, self._types) if node is not None else Plan()

    def _changed(self, resource: ResourceType, cache: Cache[Any], before: Object | None, after: Object | None) -> None:
        if after is not None:
            self._tell(self.graph.put(Node(resource, after.metadata)))
        elif before is not None:
            key = Key(before.metadata.namespace, before.metadata.name, str(resource))
            self._tell(self.graph.remove(key, is_certain=not cache.is_going_back))

    def _tell(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._concerned.send(key)


class OwnerSearch:
    """Asks the server whether an owner that no watch has shown is there."""

    effect = LOOK_FOR_OWNER

    def __init__(self, client: Client, types: ResourceTypes, graph: Graph) -> None:
        self._client = client
        self._types = types
        self._graph = graph

    async def carry_out(self, effect: Effect) -> None:
        wanted = effect.payload
        resource = self._types.of(wanted["apiVersion"], wanted["kind"])
        namespace = wanted["namespace"] if resource.is_namespaced else ""
        try:
            body = await self._client.get(resource, namespace, wanted["name"])
        except NotFoundError:
            found = ""
        else:
            found = msgspec.json.decode(body, type=Object).metadata.uid
        if found != wanted["uid"]:
            self._graph.note_absent(wanted["uid"], wanted["namespace"])
