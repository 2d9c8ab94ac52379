"""The wiring of namespace deletion: one look at every resource of the server, through the caches of the survey."""

from collections.abc import Sequence
from typing import Any

import msgspec

from heliostat.embedded.controllers.namespaces.decision import CHECK_EMPTY, NamespaceView, plan_namespace
from heliostat.embedded.controllers.survey import discover
from heliostat.embedded.controllers.views.namespaces import NAMESPACE, NAMESPACES
from heliostat.kube.objects import Key, Metadata, Object
from heliostat.kube.plan import Effect, Plan
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import Cache
from heliostat.runtime.caches import Caches
from heliostat.runtime.client import Client
from heliostat.runtime.reconciler import Signal, Source, Subject, itself, signalled, subject_of
from heliostat.runtime.transport import Call


class NamespaceReconciler:
    name = "namespace-controller"

    def __init__(self, caches: Caches) -> None:
        self._namespaces = caches.of(NAMESPACES)
        self._resources: dict[ResourceType, Cache[Object]] = {}
        self._concerned = Signal()
        self._empty: set[str] = set()  # UIDs of namespaces that the server called empty
        self._namespaces.subscribe(self._forget)

    def sources(self) -> Sequence[Source]:
        return (Source(self._namespaces, itself), Source(self._concerned, signalled))

    def join(self, resource: ResourceType, cache: Cache[Any]) -> None:
        if resource.is_namespaced:
            self._resources[resource] = cache
            cache.subscribe(self._changed)

    def leave(self, resource: ResourceType, cache: Cache[Any]) -> None:  # noqa: ARG002  the survey tells both
        self._resources.pop(resource, None)

    def subject(self, key: Key) -> Subject | None:
        found = self._namespaces.get(key)
        return subject_of(found, NAMESPACE.api_version, NAMESPACE.kind) if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        namespace = self._namespaces.get(key)
        if namespace is None or not namespace.metadata.is_terminating:
            return Plan()
        found = {resource: cache.in_namespace(key.name) for resource, cache in self._resources.items()}
        content = {resource: items for resource, items in found.items() if items}
        is_empty = self.is_known_to_be_empty(namespace.metadata.uid)
        return plan_namespace(NamespaceView(namespace, content, is_empty), now)

    def watches(self, resource: ResourceType) -> bool:
        return resource in self._resources

    def is_known_to_be_empty(self, uid: str) -> bool:
        return uid in self._empty

    def note_empty(self, uid: str, name: str) -> None:
        self._empty.add(uid)
        self._concerned.send(Key("", name))

    def _changed(self, before: Object | None, after: Object | None) -> None:
        """Only what leaves a namespace that is going concerns it; everything else would wake it for nothing."""
        item = after or before
        if item is None:
            return
        key = Key("", item.metadata.namespace)
        namespace = self._namespaces.get(key)
        if namespace is not None and namespace.metadata.is_terminating:
            self._concerned.send(key)

    def _forget(self, before: Object | None, after: Object | None) -> None:
        if after is None and before is not None:
            self._empty.discard(before.metadata.uid)


class _Listed(msgspec.Struct):
    metadata: Metadata = Metadata()
    items: list[msgspec.Raw] = []


class EmptinessCheck:
    """Asks the server itself for one object of every resource in a namespace. It takes nothing new, so no is no.

    An answer from before that moment, of a replica that lags, tells nothing, and it is asked again later. Resources
    that nobody caches (events, leases, kinds served since a moment ago) are cleared here, as a whole.
    """

    effect = CHECK_EMPTY

    def __init__(self, client: Client, namespaces: NamespaceReconciler) -> None:
        self._client = client
        self._namespaces = namespaces

    async def carry_out(self, effect: Effect) -> None:
        name, since = effect.payload["namespace"], effect.payload["since"]
        is_empty = True
        for kind in await discover(self._client):
            if not kind.is_namespaced:
                continue
            listed = await self._list_one(kind, name)
            if listed.items and not self._namespaces.watches(kind):
                await self._client.request(Call(method="DELETE", path=kind.collection_path(name)))
            if listed.items or listed.metadata.revision < since:
                is_empty = False
        if is_empty:
            self._namespaces.note_empty(effect.payload["uid"], name)

    async def _list_one(self, kind: ResourceType, namespace: str) -> _Listed:
        body = await self._client.list_page(kind, namespace=namespace, limit=1, metadata_only=True)
        return msgspec.json.decode(body, type=_Listed)
