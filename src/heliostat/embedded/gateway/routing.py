"""Gateways, HTTPRoutes and Services become tables: for a port, which rule a request meets and who may answer it. Pure.

Rules, the Gateway API's: a request belongs to the listener with the most specific hostname; among its rules the most
specific hostname wins, then an exact path, the longest prefix, a method, most headers, most query parameters, the
oldest route, the first by name, the first of its rules. A back end that cannot be resolved keeps its weight and answers
its share with 500.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias
from urllib.parse import parse_qsl

from msgspec import Struct

from heliostat.embedded.gateway.attaching import Attachment, host_matches, meet_hostnames
from heliostat.embedded.gateway.directory import KnownService, ServicePort
from heliostat.embedded.gateway.objects import BackendRef, HttpRoute, RouteMatch
from heliostat.kube.objects import Key

FindService: TypeAlias = Callable[[str, str], KnownService | None]

_EVERYTHING = (RouteMatch(),)  # what a rule without matches means, also one that says so with an empty list


class Backend(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    weight: int = 1
    port: ServicePort | None = None
    problem: str = ""  # a reason of the condition ResolvedRefs; then there is no port
    message: str = ""


class Rule(Struct, frozen=True):
    route: Key
    number: int
    backends: tuple[Backend, ...]


class Asked(Struct, frozen=True):
    """What a request is matched by."""

    method: str
    host: str  # in lower case, without a port
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Entry(Struct, frozen=True):
    hostname: str
    match: RouteMatch
    rule: Rule


class ListenerTable(Struct, frozen=True):
    hostname: str
    entries: tuple[Entry, ...]  # the first that matches is meant


class PortTable(Struct, frozen=True):
    listeners: tuple[ListenerTable, ...]  # the first whose hostname matches is meant

    def find(self, asked: Asked) -> Rule | None:
        for listener in self.listeners:
            if host_matches(listener.hostname, asked.host):
                return next((entry.rule for entry in listener.entries if matches(entry, asked)), None)
        return None


Tables: TypeAlias = Mapping[Key, Mapping[int, PortTable]]  # by Gateway and port


def build_tables(
    attached: Iterable[tuple[HttpRoute, Attachment]], ports: Mapping[Key, Iterable[tuple[int, str]]], find: FindService
) -> Tables:
    """``ports`` are the listeners of each Gateway that are open: port and hostname."""
    entries: dict[tuple[Key, int, str], list[tuple[tuple[object, ...], Entry]]] = {}
    for gateway, listeners in ports.items():
        for port, hostname in listeners:
            entries[gateway, port, hostname.lower()] = []
    for route, attachment in attached:
        for listener in attachment.listeners:
            found = entries.get((attachment.gateway, listener.port, listener.hostname.lower()))
            if found is not None:
                found += _entries(route, meet_hostnames(listener, route), find)
    tables: dict[Key, dict[int, list[ListenerTable]]] = {}
    for (gateway, port, hostname), rows in entries.items():
        table = ListenerTable(
            hostname, tuple(dict.fromkeys(entry for _, entry in sorted(rows, key=lambda row: row[0])))
        )
        tables.setdefault(gateway, {}).setdefault(port, []).append(table)
    return {
        gateway: {
            port: PortTable(tuple(sorted(each, key=lambda table: _host_order(table.hostname))))
            for port, each in by_port.items()
        }
        for gateway, by_port in tables.items()
    }


def _entries(
    route: HttpRoute, hostnames: tuple[str, ...], find: FindService
) -> Iterator[tuple[tuple[object, ...], Entry]]:
    age = (route.metadata.creation_timestamp or "", route.metadata.namespace, route.metadata.name)
    for number, spec in enumerate(route.spec.rules):
        rule = Rule(route.metadata.key, number, tuple(resolve(route, ref, find) for ref in spec.backend_refs))
        for index, match in enumerate(spec.matches or _EVERYTHING):
            for hostname in hostnames:
                order = (*_host_order(hostname), *_match_order(match), *age, number, index)
                yield order, Entry(hostname, match, rule)


def _host_order(hostname: str) -> tuple[object, ...]:
    """The most specific one first."""
    return (hostname.startswith("*") or not hostname, -len(hostname))


def _match_order(match: RouteMatch) -> tuple[object, ...]:
    path = match.path
    return (path.type != "Exact", -len(path.value), not match.method, -len(match.headers), -len(match.query_params))


def resolve(route: HttpRoute, ref: BackendRef, find: FindService) -> Backend:
    namespace = ref.namespace or route.metadata.namespace
    port, problem, message = _resolve_port(route, ref, find(namespace, ref.name))
    return Backend(namespace=namespace, name=ref.name, weight=ref.weight, port=port, problem=problem, message=message)


def _resolve_port(
    route: HttpRoute, ref: BackendRef, service: KnownService | None
) -> tuple[ServicePort | None, str, str]:
    if (ref.group, ref.kind) != ("", "Service"):
        return None, "InvalidKind", f"{ref.kind} {ref.name} cannot be a back end here; a Service can"
    if ref.namespace not in ("", route.metadata.namespace):
        words = f"Service {ref.namespace}/{ref.name} is in another namespace, and ReferenceGrants are not served here"
        return None, "RefNotPermitted", words
    if service is None:
        return None, "BackendNotFound", f"there is no Service {ref.name}"
    for port in service.ports:
        if port.port == ref.port and port.protocol == "TCP":
            return port, "", ""
    return None, "BackendNotFound", f"Service {ref.name} has no port {ref.port}"


def matches(entry: Entry, asked: Asked) -> bool:
    match = entry.match
    return (
        host_matches(entry.hostname, asked.host)
        and _path_matches(match, asked.path)
        and (not match.method or match.method == asked.method)
        and (not match.headers or _headers_match(match, asked))
        and (not match.query_params or _query_matches(match, asked))
    )


def _path_matches(match: RouteMatch, path: str) -> bool:
    if match.path.type == "Exact":
        return path == match.path.value
    prefix = match.path.value.rstrip("/")
    return path == prefix or path.startswith(f"{prefix}/")


def _headers_match(match: RouteMatch, asked: Asked) -> bool:
    """Of two conditions on one header the first counts."""
    found: dict[str, str] = {}
    for name, value in asked.headers:
        key = name.lower()
        found[key] = f"{found[key]},{value}" if key in found else value
    wanted = {each.name.lower(): each.value for each in reversed(match.headers)}
    return wanted.items() <= found.items()


def _query_matches(match: RouteMatch, asked: Asked) -> bool:
    found = dict(reversed(parse_qsl(asked.query, keep_blank_values=True)))
    wanted = {each.name: each.value for each in reversed(match.query_params)}
    return wanted.items() <= found.items()
