"""Which Pod behind a Service the proxy of the API server takes: any of those that are ready.

Rules, kube-apiserver's: Endpoints are looked at first and EndpointSlices where there are none; a Service without either
is not there, one without ready addresses at the wanted port cannot be reached now.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from heliostat.embedded.refusals import RefusedError, not_found
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject

Addresses: TypeAlias = tuple[list[str], list[Any]]  # ready ones, and the ports that all of them have

_SERVICE_LABEL = "kubernetes.io/service-name"
_SLICES = "endpointslices.discovery.k8s.io"


class ServiceEndpoints:
    def __init__(self, store: Store, random_index: Callable[[int], int]) -> None:
        self._store = store
        self._random_index = random_index

    def choose(self, namespace: str, name: str, port: str, *, shown: str) -> tuple[str, int]:
        """Address and number of a port that is known by its name. Raises RefusedError."""
        found = self._old_endpoints(namespace, name) or self._slices(namespace, name)
        if found is None:
            raise not_found("services", "", name)
        ready = [
            (address, each["port"])
            for addresses, ports in found
            for each in ports
            if (each.get("name") or "") == port
            for address in addresses
        ]
        if not ready:
            why = f'no endpoints available for service "{shown if found else name}"'
            raise RefusedError(503, "ServiceUnavailable", why)
        return ready[self._random_index(len(ready))]

    def _old_endpoints(self, namespace: str, name: str) -> list[Addresses] | None:
        record = self._store.get(Key("endpoints", namespace, name))
        if record is None:
            return None
        subsets = msgspec.json.decode(record.body).get("subsets") or []
        return [
            ([address["ip"] for address in subset.get("addresses") or ()], subset.get("ports") or [])
            for subset in subsets
        ]

    def _slices(self, namespace: str, name: str) -> list[Addresses] | None:
        records = self._store.page(Scope(_SLICES, namespace)).records
        slices = [
            msgspec.json.decode(record.body) for record in records if record.facts.labels.get(_SERVICE_LABEL) == name
        ]
        if not slices:
            return None
        return [(_ready_addresses(tree), tree.get("ports") or []) for tree in slices]


def _ready_addresses(tree: JsonObject) -> list[str]:
    ready = [
        endpoint
        for endpoint in tree.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
    ]
    return [address for endpoint in ready for address in endpoint.get("addresses") or ()]
