"""Whether a cluster or a submitter Job that is gone has left Pods: the API server itself is asked.

The caches of RayClusters and of Pods are not equally fresh. Pods that another controller made a moment ago may be
missing in a stale one, and "Suspended" is a promise to whoever queues jobs: their room is free. The garbage collector
has caches, too: a Job that was deleted in the foreground may be gone before a Pod of it.
"""

from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from heliostat.kube.facts import Fact, FactKey, Unknown
from heliostat.kube.objects import Key, revision_of
from heliostat.operator.kinds import POD
from heliostat.operator.ray_facts import RayFacts
from heliostat.runtime.client import Client
from heliostat.runtime.errors import UnavailableError

_SOURCE = "the API server"
AT_WORK = "status.phase!=Succeeded,status.phase!=Failed"


class _ListMeta(Struct, rename="camel"):
    resource_version: str = "0"


class _Found(Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] = []


class PodsGone:
    """``fact`` is what it is called, ``label`` names whose such Pods are, ``fields`` selects those that count."""

    def __init__(self, fact: str, label: str, facts: RayFacts, client: Client, fields: str = "") -> None:
        self._fact = fact
        self._label = label
        self._fields = fields
        self._facts = facts
        self._client = client

    def listen(self, listener: Callable[[Key], None]) -> None:
        self._facts.listen(self._fact, listener)

    def find_doubt(self, key: Key, owner: str, since: int) -> Unknown | None:
        """None: the server has said that there are none, and it had seen the end of their owner.

        ``since`` is a revision at which the owner was gone.
        """
        fact = FactKey(self._fact, f"{key}/{owner}")
        self._facts.watch(fact, key, self._question(key.namespace, owner, since), source=_SOURCE)
        match self._facts.get(fact):
            case Fact(False):
                return None
            case Fact():
                return Unknown(f"Pods of {owner} are still there")
            case unknown:
                return unknown

    def forget(self, key: Key) -> None:
        self._facts.forget(self._fact, key)

    def _question(self, namespace: str, owner: str, since: int) -> Callable[[], Awaitable[bool]]:
        async def ask() -> bool:
            selector = f"{self._label}={owner}"
            page = await self._client.list_page(
                POD, namespace=namespace, label_selector=selector, field_selector=self._fields, limit=1
            )
            found = msgspec.json.decode(page, type=_Found)
            if revision_of(found.metadata.resource_version) < since:
                raise UnavailableError(f"Pods of {owner}: a list that is older than what is known")
            return bool(found.items)

        return ask
