"""The names of a cluster, as Kubernetes' DNS specification has them. Pure: a question and a zone give an answer.

| name | answer |
|---|---|
| SERVICE.NS.svc.DOMAIN | the cluster address; headless: every ready Pod; ExternalName: an alias |
| HOST.SERVICE.NS.svc.DOMAIN | the Pod with that hostname behind a headless service |
| _PORT._PROTO.SERVICE.NS.svc.DOMAIN | SRV |
| A-B-C-D.NS.pod.DOMAIN | the address A.B.C.D |
| D.C.B.A.in-addr.arpa | the name of the service with that address, or of the Pod behind a headless one |

None means: not ours, ask somebody else. Addresses of Pods and services are always ours, with a name or without.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv4Network

from msgspec import Struct

from heliostat.embedded.gateway.directory import Directory, Endpoint, KnownService
from heliostat.embedded.node.network import dns_message as dns
from heliostat.embedded.node.network.dns_message import Address, Alias, Location, Pointer, Question, Record

_REVERSE = re.compile(r"(\d+)\.(\d+)\.(\d+)\.(\d+)\.in-addr\.arpa")


class Found(Struct, frozen=True):
    records: tuple[Record, ...] = ()
    code: int = dns.NO_ERROR


class Zone(Struct, frozen=True):
    directory: Directory
    domain: str
    networks: tuple[IPv4Network, ...] = ()  # of Pods and services


NO_SUCH_NAME = Found(code=dns.NO_SUCH_NAME)


def look_up(question: Question, zone: Zone) -> Found | None:
    """What the cluster says; an address of version 6 exists for no name here, which is not the same as no name."""
    name, directory, domain = question.name, zone.directory, zone.domain
    if name.endswith(".in-addr.arpa"):
        return _look_up_address(name, question, zone)
    if name != domain and not name.endswith(f".{domain}"):
        return None
    found = _look_up_name(name, name.removesuffix(domain).rstrip(".").split("."), directory, domain)
    if found is None:
        return NO_SUCH_NAME
    wanted = {dns.A: Address, dns.CNAME: Alias, dns.SRV: Location}.get(question.type)
    if question.type == dns.ANY:
        return Found(found)
    kinds = (Alias, wanted) if wanted is not None else (Alias,)
    return Found(tuple(record for record in found if isinstance(record.data, kinds)))


def _look_up_name(name: str, labels: list[str], directory: Directory, domain: str) -> tuple[Record, ...] | None:
    match labels:
        case [""] | ["svc"] | ["pod"]:
            return ()
        case [namespace, "svc" | "pod"]:
            return () if directory.has_namespace(namespace) else None
        case [service, namespace, "svc"]:
            return _of_service(name, directory.find(namespace, service), directory)
        case [host, service, namespace, "svc"]:
            return _of_host(name, host, directory.find(namespace, service), directory)
        case [port, protocol, service, namespace, "svc"]:
            return _of_port(name, port, protocol, directory.find(namespace, service), directory, domain)
        case [dashed, _namespace, "pod"]:
            return _of_pod(name, dashed)
    return None


def _of_service(name: str, service: KnownService | None, directory: Directory) -> tuple[Record, ...] | None:
    if service is None:
        return None
    if service.external_name:
        return (Record(name, Alias(service.external_name)),)
    if service.address is not None:
        return (Record(name, Address(service.address)),)
    return tuple(Record(name, Address(endpoint.address)) for endpoint in _ready(service, directory))


def _of_host(name: str, host: str, service: KnownService | None, directory: Directory) -> tuple[Record, ...] | None:
    if service is None or service.address is not None:
        return None
    found = [each for each in _ready(service, directory) if _host_of(each) == host]
    return tuple(Record(name, Address(endpoint.address)) for endpoint in found) or None


def _of_port(
    name: str, port: str, protocol: str, service: KnownService | None, directory: Directory, domain: str
) -> tuple[Record, ...] | None:
    if service is None or not port.startswith("_") or not protocol.startswith("_"):
        return None
    full = f"{service.name}.{service.namespace}.svc.{domain}"
    wanted = (port[1:], protocol[1:].upper())
    if service.address is not None:
        ports = [each for each in service.ports if (each.name, each.protocol) == wanted]
        return tuple(Record(name, Location(each.port, full)) for each in ports) or None
    return (
        tuple(
            Record(name, Location(each.port, f"{_host_of(endpoint)}.{full}"))
            for endpoint in _ready(service, directory)
            for each in endpoint.ports
            if (each.name, each.protocol) == wanted
        )
        or None
    )


def _of_pod(name: str, dashed: str) -> tuple[Record, ...] | None:
    try:
        return (Record(name, Address(IPv4Address(dashed.replace("-", ".")))),)
    except AddressValueError:
        return None


def _look_up_address(name: str, question: Question, zone: Zone) -> Found | None:
    match = _REVERSE.fullmatch(name)
    if match is None:
        return None
    try:
        address = IPv4Address(".".join(reversed(match.groups())))
    except AddressValueError:
        return None
    found = _name_of(address, zone.directory)
    if not found:
        return NO_SUCH_NAME if any(address in network for network in zone.networks) else None
    pointer = Record(name, Pointer(f"{found}.svc.{zone.domain}"))
    return Found((pointer,) if question.type in (dns.PTR, dns.ANY) else ())


def _name_of(address: IPv4Address, directory: Directory) -> str:
    service = directory.find_by_address(address)
    if service is not None:
        return f"{service.name}.{service.namespace}"
    for service, endpoint in directory.find_endpoints_at(address):
        if service.address is None and endpoint.is_ready:  # only so does the name lead back to the address
            return f"{_host_of(endpoint)}.{service.name}.{service.namespace}"
    return ""


def _ready(service: KnownService, directory: Directory) -> list[Endpoint]:
    return [endpoint for endpoint in directory.endpoints(service.namespace, service.name) if endpoint.is_ready]


def _host_of(endpoint: Endpoint) -> str:
    return endpoint.hostname or str(endpoint.address).replace(".", "-")
