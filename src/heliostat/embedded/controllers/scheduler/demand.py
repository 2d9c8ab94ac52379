"""What a Pod takes from the node it is on, and what it asks of one it could go to; read from the Pod once.

Pods with equal ``shape`` ask for the same: what was found out about nodes for one of them holds for the others.
"""

from typing import TypeAlias

import msgspec
from msgspec import Struct

from heliostat.embedded.controllers.scheduler.neighbours import NeighbourTerm, build_terms
from heliostat.embedded.controllers.scheduler.places import Places, build_places
from heliostat.embedded.controllers.scheduler.requests import ASSUMED, CPU, MEMORY, Amounts, total_requests
from heliostat.embedded.controllers.scheduler.spreading import SpreadRule, build_rules
from heliostat.embedded.controllers.views.pods import Pod, PodSpec, Toleration
from heliostat.kube.objects import Key, Metadata

HostPort: TypeAlias = tuple[str, str, int]  # address, protocol, port
ANY_ADDRESS = "0.0.0.0"  # noqa: S104  the API's word for every address of the host


class Load(Struct, frozen=True):
    metadata: Metadata
    priority: int
    requests: Amounts
    scored_cpu: int  # what scoring counts: an assumed amount where a container says nothing
    scored_memory: int
    ports: tuple[HostPort, ...]
    apart: tuple[NeighbourTerm, ...]
    started: str = ""

    @property
    def key(self) -> Key:
        return self.metadata.key


class Demand(Struct, frozen=True):
    load: Load
    places: Places
    tolerations: tuple[Toleration, ...]
    together: tuple[NeighbourTerm, ...]
    spread: tuple[SpreadRule, ...]
    nominated: str
    may_preempt: bool
    shape: bytes

    @property
    def key(self) -> Key:
        return self.load.metadata.key


def build_load(pod: Pod) -> Load:
    scored = total_requests(pod.spec, ASSUMED)
    return Load(
        metadata=pod.metadata,
        priority=pod.spec.priority or 0,
        requests={name: amount for name, amount in total_requests(pod.spec).items() if amount},
        scored_cpu=scored.get(CPU, 0),
        scored_memory=scored.get(MEMORY, 0),
        ports=tuple(_host_ports(pod.spec)),
        apart=build_terms(pod.spec.affinity, "podAntiAffinity", pod.metadata.namespace) if pod.spec.affinity else (),
        started=pod.status.start_time or "",
    )


def build_demand(pod: Pod) -> Demand:
    spec = pod.spec
    load = build_load(pod)
    return Demand(
        load=load,
        places=build_places(spec.node_selector, spec.affinity),
        tolerations=spec.tolerations,
        together=build_terms(spec.affinity, "podAffinity", pod.metadata.namespace) if spec.affinity else (),
        spread=build_rules(spec.topology_spread_constraints, pod.metadata.labels),
        nominated=pod.status.nominated_node_name,
        may_preempt=spec.preemption_policy != "Never",
        shape=_shape(load, spec),
    )


def _shape(load: Load, spec: PodSpec) -> bytes:
    asked = (load.requests, load.scored_cpu, load.scored_memory, load.ports)
    return msgspec.json.encode((asked, spec.node_selector, spec.affinity, spec.tolerations), order="deterministic")


def _host_ports(spec: PodSpec) -> list[HostPort]:
    sidecars = [container for container in spec.init_containers if container.restart_policy == "Always"]
    return [
        (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*spec.containers, *sidecars)
        for port in container.ports
        if port.host_port > 0
    ]
