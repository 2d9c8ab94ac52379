"""What to do about the EndpointSlices of one Service.

Rules: slices hold one address family and one set of ports; every family of the Service has at least one slice, empty if
need be; a slice that is no longer needed becomes one that is; only what changed is written. The annotation with the
time of what set off a change is for those who measure how long it takes.
"""

from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from heliostat.embedded.controllers.child_names import ChildNames
from heliostat.embedded.controllers.endpoints.building import (
    build_endpoint,
    build_labels,
    build_slice,
    without_reserved,
)
from heliostat.embedded.controllers.endpoints.members import TRIGGER_TIME, is_member, ready_since, resolve_ports
from heliostat.embedded.controllers.endpoints.packing import pack
from heliostat.embedded.controllers.views.endpoint_slices import (
    ENDPOINT_SLICE,
    Endpoint,
    EndpointPort,
    EndpointSlice,
)
from heliostat.embedded.controllers.views.nodes import Node
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.services import Service
from heliostat.kube.jsontree import JsonObject, diff_merge_patch
from heliostat.kube.plan import Action, Create, Delete, Event, Patch, Plan, Ref, Stage

Ports = tuple[EndpointPort, ...]


class SliceView(Struct, frozen=True):
    service: Service
    pods: tuple[Pod, ...]  # those that it selects, by name
    slices: tuple[EndpointSlice, ...]  # those that carry its name and ours, and are not being deleted
    find_node: Callable[[str], Node | None]
    departed: int = 0


class _Member(Struct, frozen=True):
    pod: Pod
    node: Node | None
    ports: Ports
    is_lost: bool


class _Wanted(Struct, frozen=True):
    """A slice as it should be; without ``replaces`` it is a new one."""

    family: str
    ports: Ports
    endpoints: tuple[Endpoint, ...]
    replaces: EndpointSlice | None = None


def plan_slices(view: SliceView) -> Plan:
    service = view.service
    if not service.selects_pods:
        return Plan()
    members, lost = _find_members(view)
    wanted: list[_Wanted] = []
    surplus: list[EndpointSlice] = []
    families = families_of(service)
    for family in families:
        found = [item for item in view.slices if item.address_type == family]
        more, less = _arrange(view, family, found, members)
        wanted += more
        surplus += less
    surplus += [item for item in view.slices if item.address_type not in families]
    names = ChildNames(service.metadata, view.slices, view.departed)
    writes = [_write(view, item, names) for item in wanted if item.replaces or not service.metadata.is_terminating]
    deletes = tuple(_delete(item) for item in surplus)
    stages = (Stage("slices", tuple(writes)), Stage("surplus", deletes, needs=("slices",)))
    return Plan(tuple(stage for stage in stages if stage.actions), events=tuple(_tell_lost(service, lost)))


def families_of(service: Service) -> tuple[str, ...]:
    known = tuple(family for family in ("IPv4", "IPv6") if family in service.spec.ip_families)
    if known:
        return known
    if service.has_address:
        return ("IPv6",) if ":" in service.spec.cluster_ip else ("IPv4",)
    return "IPv4", "IPv6"


def _find_members(view: SliceView) -> tuple[list[_Member], list[Pod]]:
    """Those that count, and those whose node is not there, so that nobody can tell whether they are."""
    members: list[_Member] = []
    lost: list[Pod] = []
    for pod in view.pods:
        if is_member(pod, with_terminating=True):
            node = view.find_node(pod.spec.node_name)
            is_lost = node is None and not view.service.spec.publish_not_ready_addresses
            members.append(_Member(pod, node, resolve_ports(view.service, pod), is_lost))
            lost += [pod] if is_lost else []
    return members, lost


def _tell_lost(service: Service, lost: Iterable[Pod]) -> Iterable[Event]:
    name = f"{service.metadata.namespace}/{service.metadata.name}"
    problems = [
        f"skipping Pod {pod.metadata.name} for Service {name}: Node {pod.spec.node_name} Not Found" for pod in lost
    ]
    if problems:
        text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        note = f"Error updating Endpoint Slices for Service {name}: {text}"
        yield Event("Warning", "FailedToUpdateEndpointSlices", "Update", note)


def _arrange(
    view: SliceView, family: str, found: list[EndpointSlice], members: list[_Member]
) -> tuple[list[_Wanted], list[EndpointSlice]]:
    """The slices of one family that are to be written, and those that are to go."""
    ours = [item for item in found if _is_owned(item, view.service)]
    surplus = [item for item in found if item not in ours]
    groups = _group_endpoints(view.service, family, members)
    wanted: list[_Wanted] = []
    for key, (ports, endpoints) in groups.items():
        slices = [item for item in ours if _key_of(item.ports or ()) == key]
        packing = pack(slices, endpoints, _stale_labels(slices, view.service))
        by_name = {item.metadata.name: item for item in slices}
        wanted += [_Wanted(family, ports, kept, by_name[name]) for name, kept in packing.changed.items()]
        wanted += [_Wanted(family, ports, added) for added in packing.added]
        surplus += packing.emptied
    surplus += [item for item in ours if _key_of(item.ports or ()) not in groups]
    return _settle(view.service, family, found, wanted, surplus)


def _settle(
    service: Service, family: str, found: list[EndpointSlice], wanted: list[_Wanted], surplus: list[EndpointSlice]
) -> tuple[list[_Wanted], list[EndpointSlice]]:
    """An empty slice where there would be none, and new slices in the place of old ones."""
    new = [item for item in wanted if item.replaces is None]
    if len(found) == len(surplus) and not new:
        if len(surplus) == 1 and _is_placeholder(surplus[0], service):
            return wanted, []
        new = [_Wanted(family, (), ())]
    kept = [item for item in wanted if item.replaces is not None]
    reusable = [item for item in surplus if _is_owned(item, service)]
    reused = list(zip(new, reusable, strict=False))
    kept += [msgspec.structs.replace(item, replaces=old) for item, old in reused]
    taken = [old.metadata.name for _item, old in reused]
    return [*kept, *new[len(reused) :]], [item for item in surplus if item.metadata.name not in taken]


def _group_endpoints(
    service: Service, family: str, members: Iterable[_Member]
) -> dict[frozenset[EndpointPort], tuple[Ports, list[Endpoint]]]:
    """By the ports that the Pods serve at; a Pod that is left out still holds the place of its ports."""
    groups: dict[frozenset[EndpointPort], tuple[Ports, list[Endpoint]]] = {}
    for member in members:
        _ports, endpoints = groups.setdefault(_key_of(member.ports), (member.ports, []))
        if not member.is_lost:
            endpoint = build_endpoint(member.pod, member.node, service, family)
            endpoints.extend([endpoint] if endpoint.addresses else [])
    return groups


def _key_of(ports: Iterable[EndpointPort]) -> frozenset[EndpointPort]:
    """An absent name, protocol or port is the same as the one it stands for."""
    return frozenset(
        EndpointPort(port.name or "", port.port, port.protocol or "TCP", port.app_protocol) for port in ports
    )


def _stale_labels(slices: Iterable[EndpointSlice], service: Service) -> frozenset[str]:
    own = without_reserved(service.metadata.labels)
    return frozenset(item.metadata.name for item in slices if without_reserved(item.metadata.labels) != own)


def _is_owned(item: EndpointSlice, service: Service) -> bool:
    return any(
        owner.uid == service.metadata.uid and owner.kind == "Service" for owner in item.metadata.owner_references
    )


def _is_placeholder(item: EndpointSlice, service: Service) -> bool:
    is_empty = not item.endpoints and not item.ports
    return is_empty and _is_owned(item, service) and item.metadata.labels == build_labels(service)


def _write(view: SliceView, wanted: _Wanted, names: ChildNames) -> Action:
    service, old = view.service, wanted.replaces
    name = old.metadata.name if old is not None else names.next()
    tree = build_slice(service, name, wanted.family, wanted.ports, wanted.endpoints)
    trigger = _trigger_time(view, wanted)
    annotations = {TRIGGER_TIME: trigger} if trigger else {}
    if old is None:
        tree["metadata"]["annotations"] = annotations
        return Create(tree, f"{len(wanted.endpoints)} endpoints have no slice")
    known = {key: value for key, value in old.metadata.annotations.items() if key == TRIGGER_TIME}
    changes: JsonObject = {
        "metadata": {
            "labels": diff_merge_patch(dict(old.metadata.labels), tree["metadata"]["labels"]),
            "annotations": diff_merge_patch(known, annotations),
        },
        "endpoints": tree["endpoints"],
        "ports": tree["ports"],
    }
    because = f"it has {len(wanted.endpoints)} endpoints now"
    return Patch(_ref_of(old), old.metadata.uid, old.metadata.resource_version, changes, because)


def _trigger_time(view: SliceView, wanted: _Wanted) -> str | None:
    """The earliest of what set off the change: Pods whose readiness is news, or at first the Service itself."""
    if not view.slices:
        return view.service.metadata.creation_timestamp
    known = {
        endpoint.target_ref.uid: endpoint.conditions.serving
        for item in view.slices
        for endpoint in item.endpoints or ()
        if endpoint.target_ref is not None
    }
    held = {
        endpoint.target_ref.uid
        for endpoint in wanted.endpoints
        if endpoint.target_ref is not None and known.get(endpoint.target_ref.uid) != endpoint.conditions.serving
    }
    times = (ready_since(pod) for pod in view.pods if pod.metadata.uid in held)
    return min((time for time in times if time is not None), default=None)


def _delete(item: EndpointSlice) -> Delete:
    return Delete(_ref_of(item), item.metadata.uid, "none of its endpoints is left")


def _ref_of(item: EndpointSlice) -> Ref:
    return Ref(ENDPOINT_SLICE.api_version, ENDPOINT_SLICE.kind, item.metadata.namespace, item.metadata.name)
