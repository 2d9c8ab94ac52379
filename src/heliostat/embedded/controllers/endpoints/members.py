"""Which Pods stand behind a Service, at which ports and addresses.

Rules: a Pod that is over or has no address does not; a named target port is looked up in each Pod, so Pods of one
Service may serve at different ports, and a port that a Pod does not have is left out for it.
"""

import ipaddress
from functools import lru_cache

from heliostat.embedded.controllers.views.endpoint_slices import EndpointPort
from heliostat.embedded.controllers.views.pods import Container, Pod
from heliostat.embedded.controllers.views.services import Service, ServicePort
from heliostat.kube.timestamps import moment_of

HEADLESS = "service.kubernetes.io/headless"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


def is_member(pod: Pod, *, with_terminating: bool) -> bool:
    has_address = bool(pod.status.pod_ip or pod.status.pod_ips)
    return not pod.is_over and has_address and (with_terminating or not pod.metadata.is_terminating)


def resolve_ports(service: Service, pod: Pod) -> tuple[EndpointPort, ...]:
    found = ((port, find_port(pod, port)) for port in service.spec.ports)
    return tuple(
        EndpointPort(port.name, number, port.protocol, port.app_protocol)
        for port, number in found
        if number is not None
    )


def find_port(pod: Pod, port: ServicePort) -> int | None:
    """The number of the port in this Pod."""
    if isinstance(port.target_port, int):
        return port.target_port
    sidecars = (container for container in pod.spec.init_containers if container.restart_policy == "Always")
    for container in (*pod.spec.containers, *sidecars):
        number = _named(container, port.target_port, port.protocol)
        if number is not None:
            return number
    return None


def _named(container: Container, name: str, protocol: str) -> int | None:
    return next(
        (port.container_port for port in container.ports if port.name == name and port.protocol == protocol), None
    )


def addresses_of(pod: Pod, family: str) -> tuple[str, ...]:
    """In their usual spelling; what is no address is left out."""
    spelled = (_spell(address.ip) for address in pod.status.pod_ips)
    return tuple(sorted(text for text, found in spelled if found == family))


@lru_cache(maxsize=65_536)  # every change of a Service's Pods asks for the addresses of all of them
def _spell(text: str) -> tuple[str, str]:
    """The address and its family; no family if it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text, ""
    return str(address), f"IPv{address.version}"


def hostname_of(pod: Pod, service: Service) -> str | None:
    """Pods that name the Service as their subdomain can be asked for by name."""
    return (pod.spec.hostname or None) if pod.spec.subdomain == service.metadata.name else None


def ready_since(pod: Pod) -> str | None:
    """When its readiness last changed: what set off the change of its endpoint."""
    ready = next((found for found in pod.status.conditions if found.type == "Ready"), None)
    return ready.last_transition_time if ready is not None and moment_of(ready.last_transition_time) else None
