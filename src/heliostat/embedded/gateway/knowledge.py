"""What is known of the Gateway API's objects: which Gateways are ours, and what is attached to them.

Where the kinds are not served there are none: the local control plane brings them, others may not.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from heliostat.embedded.controllers.views.namespaces import NAMESPACES
from heliostat.embedded.gateway.attaching import Attachment, attach, judge_listener
from heliostat.embedded.gateway.definitions import CONTROLLER_NAME
from heliostat.embedded.gateway.directory import Directory
from heliostat.embedded.gateway.feed import SERVICES, NodeService
from heliostat.embedded.gateway.fronts import is_of, service_name
from heliostat.embedded.gateway.objects import GATEWAY_CLASSES, GATEWAYS, HTTP_ROUTES, Gateway, HttpRoute
from heliostat.embedded.gateway.routing import Backend, Tables, build_tables, resolve
from heliostat.kube.objects import Key
from heliostat.runtime.caches import Caches


class Knowledge:
    def __init__(self, caches: Caches, directory: Directory) -> None:
        self.classes = caches.dispensable(GATEWAY_CLASSES)
        self.gateways = caches.dispensable(GATEWAYS)
        self.routes = caches.dispensable(HTTP_ROUTES)
        self.namespaces = caches.of(NAMESPACES)
        self.services = caches.of(SERVICES)
        self._directory = directory

    async def wait_filled(self) -> None:
        for cache in (self.classes, self.gateways, self.routes):
            await cache.answered.wait()
        await self.namespaces.synced.wait()

    def find(self, key: Key) -> Gateway | None:
        """Of those that are ours and not on their way out."""
        gateway = self.gateways.get(key)
        if gateway is None or gateway.metadata.is_terminating:
            return None
        class_ = self.classes.get(Key("", gateway.spec.gateway_class_name))
        return gateway if class_ is not None and class_.spec.controller_name == CONTROLLER_NAME else None

    def all(self) -> Iterator[tuple[Key, Gateway]]:
        for gateway in self.gateways:
            key = gateway.metadata.key
            if self.find(key) is not None:
                yield key, gateway

    def attachments(self, route: HttpRoute) -> list[Attachment]:
        return list(attach(route, self.find, self._labels_of))

    def backends(self, route: HttpRoute) -> list[Backend]:
        find = self._directory.find
        return [resolve(route, ref, find) for rule in route.spec.rules for ref in rule.backend_refs]

    def count_routes(self, key: Key) -> Mapping[str, int]:
        """How many each listener of a Gateway has."""
        found: Counter[str] = Counter()
        for route in self.routes:
            names = {
                listener.name for each in self.attachments(route) if each.gateway == key for listener in each.listeners
            }
            found.update(names)
        return found

    def service_of(self, gateway: Gateway) -> NodeService | None:
        return self.services.get(Key(gateway.metadata.namespace, service_name(gateway)))

    def former_services(self, gateway: Gateway) -> list[NodeService]:
        name = service_name(gateway)
        return [each for each in self.services if is_of(gateway, each) and each.metadata.name != name]

    def build_tables(self) -> Tables:
        living = [route for route in self.routes if not route.metadata.is_terminating]
        attached = [(route, each) for route in living for each in self.attachments(route)]
        ports = {
            key: [(each.port, each.hostname) for each in gateway.spec.listeners if judge_listener(each).is_fine]
            for key, gateway in self.all()
            if not gateway.spec.addresses
        }
        return build_tables(attached, ports, self._directory.find)

    def _labels_of(self, namespace: str) -> Mapping[str, str]:
        found = self.namespaces.get(Key("", namespace))
        return found.metadata.labels if found is not None else {}
