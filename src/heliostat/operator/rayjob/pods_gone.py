"""Whether a cluster that is gone has left Pods: the API server itself is asked, when the cache shows none.

The caches of RayClusters and of Pods are not equally fresh. Pods that another controller made a moment ago may be
missing in a stale one, and "Suspended" is a promise to whoever queues jobs: their room is free.
"""

from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from heliostat.desired import labels
from heliostat.kube.facts import Fact, FactKey, Unknown
from heliostat.kube.objects import Key, revision_of
from heliostat.operator.kinds import POD
from heliostat.operator.ray_facts import RayFacts
from heliostat.runtime.client import Client
from heliostat.runtime.errors import UnavailableError

FACT = "ray-job-pods"
_SOURCE = "the API server"


class _ListMeta(Struct, rename="camel"):
    resource_version: str = "0"


class _Found(Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] = []


class PodsGone:
    def __init__(self, facts: RayFacts, client: Client) -> None:
        self._facts = facts
        self._client = client

    def listen(self, listener: Callable[[Key], None]) -> None:
        self._facts.listen(FACT, listener)

    def find_doubt(self, key: Key, cluster: str, since: int) -> Unknown | None:
        """None: the server has said that there are none, and it had seen the end of the cluster.

        ``since`` is a revision at which the cluster was gone.
        """
        fact = FactKey(FACT, f"{key}/{cluster}")
        self._facts.watch(fact, key, self._question(key.namespace, cluster, since), source=_SOURCE)
        match self._facts.get(fact):
            case Fact(False):
                return None
            case Fact():
                return Unknown(f"Pods of {cluster} are still there")
            case unknown:
                return unknown

    def forget(self, key: Key) -> None:
        self._facts.forget(FACT, key)

    def _question(self, namespace: str, cluster: str, since: int) -> Callable[[], Awaitable[bool]]:
        async def ask() -> bool:
            selector = f"{labels.CLUSTER}={cluster}"
            page = await self._client.list_page(POD, namespace=namespace, label_selector=selector, limit=1)
            found = msgspec.json.decode(page, type=_Found)
            if revision_of(found.metadata.resource_version) < since:
                raise UnavailableError(f"Pods of {cluster}: a list that is older than what is known")
            return bool(found.items)

        return ask
