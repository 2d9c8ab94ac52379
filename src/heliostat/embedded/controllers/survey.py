"""Which resources there are: discovery, read again whenever a definition changes, and a cache of metadata for each.

Garbage collection and namespace deletion work on whatever is served, so they cannot name their kinds beforehand.
Rules: of several versions the preferred one is watched; what cannot be listed, watched and deleted is nobody's garbage.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import Cache, CachedKind
from heliostat.runtime.client import Client
from heliostat.runtime.errors import ApiError
from heliostat.runtime.host import Host
from heliostat.runtime.transport import Call

NEEDED_VERBS = frozenset({"delete", "list", "watch"})
SURVEY_SECONDS = 30.0
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

DEFINITIONS = ResourceType(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", is_namespaced=False
)
DEFINITION_KIND: CachedKind[Object] = CachedKind(DEFINITIONS, Object, metadata_only=True)


class _Kind(Struct):
    kind: str = ""


class _Resource(Struct, rename="camel"):
    resource: str
    response_kind: _Kind = msgspec.field(default_factory=_Kind)
    scope: str = "Namespaced"
    verbs: list[str] = []


class _Version(Struct):
    version: str
    resources: list[_Resource] = []


class _Metadata(Struct):
    name: str = ""


class _Group(Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    versions: list[_Version] = []


class _Discovery(Struct):
    items: list[_Group] = []


def read_discovery(body: bytes) -> list[ResourceType]:
    """The resources of an aggregated discovery document, each in its preferred version."""
    found: dict[tuple[str, str], ResourceType] = {}
    for group in msgspec.json.decode(body, type=_Discovery).items:
        for version in group.versions:
            name = group.metadata.name
            api_version = f"{name}/{version.version}" if name else version.version
            for resource in version.resources:
                if NEEDED_VERBS.issubset(resource.verbs):
                    kind = ResourceType(
                        api_version,
                        resource.response_kind.kind,
                        resource.resource,
                        is_namespaced=resource.scope == "Namespaced",
                    )
                    found.setdefault((name, resource.resource), kind)
    return list(found.values())


async def discover(client: Client) -> list[ResourceType]:
    """Everything that can be listed, watched and deleted, as the server serves it now."""
    found: list[ResourceType] = []
    for path in ("/api", "/apis"):
        found += read_discovery(await client.request(Call(method="GET", path=path, accept=_AGGREGATED)))
    return found


class Surveyed(Protocol):
    """Who wants to know of resources that come and go."""

    def join(self, resource: ResourceType, cache: Cache[Any]) -> None: ...

    def leave(self, resource: ResourceType, cache: Cache[Any]) -> None: ...


class Survey:
    def __init__(
        self,
        client: Client,
        host: Host,
        members: Iterable[Surveyed],
        *,
        on_problem: Callable[[str, Exception], None],
        is_wanted: Callable[[ResourceType], bool],
    ) -> None:
        self._client = client
        self._host = host
        self._members = tuple(members)
        self._on_problem = on_problem
        self._is_wanted = is_wanted
        self._joined: dict[ResourceType, Cache[Object]] = {}
        self._changed = asyncio.Event()
        host.caches.of(DEFINITION_KIND).subscribe(lambda _before, _after: self._changed.set())

    async def run(self) -> None:
        """Until cancelled. A definition that changed is looked at again a little later: being served takes a moment."""
        while True:
            self._changed.clear()
            try:
                await self.look()
            except ApiError as error:
                self._on_problem("discovery", error)
            try:
                async with asyncio.timeout(SURVEY_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def look(self) -> None:
        served = {resource for resource in await discover(self._client) if self._is_wanted(resource)}
        for resource in [known for known in self._joined if known not in served]:
            cache = self._joined.pop(resource)
            for member in self._members:
                member.leave(resource, cache)
            self._host.unfollow(cache.kind)
        for resource in sorted(served - self._joined.keys(), key=str):
            cache = self._host.caches.of(CachedKind(resource, Object, metadata_only=True))
            self._joined[resource] = cache
            for member in self._members:
                member.join(resource, cache)
            self._host.follow(cache)
