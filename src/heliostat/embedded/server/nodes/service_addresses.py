"""Cluster addresses and node ports of Services: given out once, kept while the Service lives, free again after.

Rules: what a client asks for it gets if it is in range and free; what nobody asked for is drawn from above a low band,
which stays free for those who ask; the book is rebuilt from the store at start. A draw is held from the moment it is
made, so that two writes under way never get the same; ``abandon`` gives it back when the write comes to nothing.
"""

import ipaddress
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec

from heliostat.embedded.kinds.network.service_address_validation import address_causes
from heliostat.embedded.kinds.network.service_changes import (
    forget_former_type,
    keep_given_out,
    node_ports,
    pair_changed_addresses,
    pair_new_addresses,
)
from heliostat.embedded.kinds.network.service_defaults import (
    EXTERNAL_NAME,
    HEADLESS,
    needs_health_check,
    needs_node_ports,
)
from heliostat.embedded.kinds.network.service_families import fill_families
from heliostat.embedded.kinds.rules.address_rules import read_ip
from heliostat.embedded.kinds.rules.causes import invalid as invalid_value
from heliostat.embedded.networks import SERVICE_RANGE
from heliostat.embedded.refusals import RefusedError, invalid
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject

SERVICES = "services"
FIRST_PORT, LAST_PORT = 30000, 32767
_LOW_ADDRESSES = 256
_LOW_PORTS = 86
_TAKEN_PORT = "provided port is already allocated"

Thing = TypeVar("Thing", bound=Hashable)


class Pool(Generic[Thing]):
    """Numbered things, each with at most one holder."""

    def __init__(self, size: int, low: int, make: Callable[[int], Thing], random_index: Callable[[int], int]) -> None:
        self._size = size
        self._low = low
        self._make = make
        self._random_index = random_index
        self._holder: dict[Thing, str] = {}
        self._held: dict[str, set[Thing]] = {}

    def take(self, thing: Thing, holder: str) -> bool:
        if self._holder.setdefault(thing, holder) != holder:
            return False
        self._held.setdefault(holder, set()).add(thing)
        return True

    def draw(self, holder: str) -> Thing | None:
        """Anything free, from above the low band while there is some; None when all is taken."""
        for start, length in ((self._low, self._size - self._low), (0, self._low)):
            first = self._random_index(length)
            for step in range(length):
                thing = self._make(start + (first + step) % length)
                if thing not in self._holder and self.take(thing, holder):
                    return thing
        return None

    def keep_only(self, kept: set[Thing], holder: str) -> None:
        for thing in self._held.pop(holder, set()) - kept:
            del self._holder[thing]
        for thing in kept:
            self.take(thing, holder)


class ServiceAddresses:
    def __init__(self, random_index: Callable[[int], int], cluster_range: str = str(SERVICE_RANGE)) -> None:
        self._range = ipaddress.ip_network(cluster_range)
        first = self._range.network_address + 1
        size = self._range.num_addresses - 2
        self._addresses = Pool(size, min(_LOW_ADDRESSES, size // 2), lambda index: str(first + index), random_index)
        ports = LAST_PORT - FIRST_PORT + 1
        self._ports = Pool(ports, _LOW_PORTS, lambda index: FIRST_PORT + index, random_index)

    def rebuild(self, store: Store) -> None:
        for record in store.page(Scope(SERVICES)).records:
            self.written(msgspec.json.decode(record.body), deleted=False)

    def admit(self, new: JsonObject, old: JsonObject | None) -> None:
        """Complete a Service with what it gets; refuses what it cannot get."""
        spec, before = new["spec"], old["spec"] if old is not None else None
        if before is None:
            pair_new_addresses(spec)
        else:
            keep_given_out(spec, before)
            pair_changed_addresses(spec, before)
            forget_former_type(spec, before)
        if spec.get("type") != EXTERNAL_NAME:
            causes = list(address_causes(spec)) or fill_families(spec, before)
            if causes:
                raise invalid("Service", "", new["metadata"].get("name", ""), causes)
            self._give_address(new, before)
        self._give_ports(new, before)

    def written(self, tree: JsonObject, *, deleted: bool) -> None:
        self._hold(tree["metadata"]["uid"], None if deleted else tree["spec"])

    def abandon(self, new: JsonObject, old: JsonObject | None) -> None:
        """The write did not happen: only what was held before stays."""
        self._hold(new["metadata"]["uid"], old["spec"] if old is not None else None)

    def _hold(self, uid: str, spec: JsonObject | None) -> None:
        addresses = {address for address in (spec or {}).get("clusterIPs") or () if address != HEADLESS}
        ports = node_ports(spec) if spec else set()
        if spec and spec.get("healthCheckNodePort"):
            ports.add(spec["healthCheckNodePort"])
        self._addresses.keep_only(addresses, uid)
        self._ports.keep_only(ports, uid)

    def _give_address(self, new: JsonObject, before: JsonObject | None) -> None:
        spec, uid = new["spec"], new["metadata"]["uid"]
        given = spec.get("clusterIPs") or []
        if given[:1] == [HEADLESS] or (before is not None and before.get("clusterIPs")):
            return
        if not given:
            address = self._addresses.draw(uid)
            if address is None:
                why = "failed to allocate a serviceIP: range is full"
                raise RefusedError(500, "InternalError", f"Internal error occurred: {why}")
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
            return
        problem = self._address_problem(given[0], uid)
        if problem:
            raise _refuse(new, "spec.clusterIPs", given, f"failed to allocate IP {given[0]}: {problem}")

    def _address_problem(self, text: str, uid: str) -> str:
        address = read_ip(text)
        if address is None or address not in self._range:
            return "the provided network does not match the current range"
        if address in (self._range.network_address, self._range.broadcast_address):
            return f"provided IP is not in the valid range. The range of valid IPs is {self._range}"
        return "" if self._addresses.take(str(address), uid) else "provided IP is already allocated"

    def _give_ports(self, new: JsonObject, before: JsonObject | None) -> None:
        spec, uid = new["spec"], new["metadata"]["uid"]
        draws = spec.get("type") != "LoadBalancer" or spec.get("allocateLoadBalancerNodePorts", True)
        had = node_ports(before) if before else set()
        shared: dict[int, int] = {}  # one number serves a port on every protocol
        for index, port in enumerate(spec.get("ports") or () if needs_node_ports(spec) else ()):
            number = port.get("nodePort") or shared.get(port.get("port", 0), 0)
            if number:
                if number in shared.values() and shared.get(port.get("port", 0)) != number:
                    raise _refuse(new, f"spec.ports[{index}].nodePort", number, _TAKEN_PORT)
                if number not in had:
                    self._take_port(new, number, f"spec.ports[{index}].nodePort")
            elif draws:
                number = self._ports.draw(uid) or 0
            if number:
                port["nodePort"] = shared[port.get("port", 0)] = number
        if needs_health_check(spec):
            self._give_health_port(new, before)

    def _give_health_port(self, new: JsonObject, before: JsonObject | None) -> None:
        spec = new["spec"]
        number = spec.get("healthCheckNodePort", 0)
        if not number:
            spec["healthCheckNodePort"] = self._ports.draw(new["metadata"]["uid"]) or 0
        elif number != (before or {}).get("healthCheckNodePort"):
            self._take_port(new, number, "spec.healthCheckNodePort")

    def _take_port(self, new: JsonObject, number: int, path: str) -> None:
        problem = ""
        if not FIRST_PORT <= number <= LAST_PORT:
            problem = f"provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{LAST_PORT}"
        elif not self._ports.take(number, new["metadata"]["uid"]):
            problem = _TAKEN_PORT
        if problem:
            raise _refuse(new, path, number, problem)


def _refuse(service: JsonObject, path: str, value: object, why: str) -> RefusedError:
    return invalid("Service", "", service["metadata"].get("name", ""), [invalid_value(path, value, why)])
