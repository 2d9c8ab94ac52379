"""The Gateway and the HTTPRoute of an incremental upgrade: made, kept as they should be, and read (rayservice.md §6.2).

The route alone says where requests go. What others may fill in or add (defaults, listeners' details, annotations) is
left alone; what decides about requests is put right. A Gateway counts once somebody has taken it on and programmed it.
"""

from collections.abc import Sequence

from heliostat.api.markers import JsonObject
from heliostat.desired.rayservice.gateway import (
    build_cluster_serve_service,
    build_gateway,
    build_route,
    build_whole_route,
    find_serve_port,
)
from heliostat.desired.rayservice.names import cluster_serve_service_name, gateway_name, route_name
from heliostat.desired.slots import Impossible
from heliostat.kube.conditions import get_condition, is_condition_true
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import GATEWAY, GATEWAY_CLASS, HTTP_ROUTE, SERVICE, Found, KindName
from heliostat.kube.owners import is_controlled_by
from heliostat.kube.plan import Create, patch_of, ref_of
from heliostat.plan.because import Hold as CommonHold
from heliostat.plan.draft import NOTHING, Part, join, wait_beside, wait_for
from heliostat.plan.ensure import name_taken, wait_for_knowledge
from heliostat.plan.rayservice.gateway_drift import find_drift, weight_of
from heliostat.plan.rayservice.observed import ObservedService
from heliostat.plan.rayservice.reasons import Because, Hold
from heliostat.plan.rayservice.reports import class_not_found, report_gateway, report_route

CLASS_FIELD = "spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName"


def find_gateway(observed: ObservedService) -> Found:
    return observed.find(GATEWAY, gateway_name(observed.service.metadata.name))


def find_route(observed: ObservedService) -> Found:
    """None also for one that is not ours."""
    found = observed.find(HTTP_ROUTE, route_name(observed.service.metadata.name))
    return found if not isinstance(found, dict) or observed.owns(found) else None


def read_weights(route: JsonObject, clusters: Sequence[str]) -> dict[str, int]:
    """What the route gives to each of these clusters; one that it does not name is not in the answer."""
    named = _read_back_ends(route)
    return {cluster: named[name] for cluster in clusters if (name := cluster_serve_service_name(cluster)) in named}


def _read_back_ends(route: JsonObject) -> dict[str, int]:
    return {
        str(back_end.get("name")): weight_of(back_end)
        for rule in route["spec"].get("rules") or ()
        for back_end in rule.get("backendRefs") or ()
    }


def is_gateway_ready(gateway: Found) -> bool:
    if not isinstance(gateway, dict):
        return False
    conditions = (gateway.get("status") or {}).get("conditions")
    return all(is_condition_true(conditions, type_) for type_ in ("Accepted", "Programmed"))


def is_route_ready(route: Found, gateway: str) -> bool:
    return bool(_taken_by(route, gateway))


def is_route_taken_up(route: Found, gateway: str) -> bool:
    """Whether who serves the Gateway has seen the route as it is now; who does not tell is believed."""
    if not isinstance(route, dict):
        return False
    generation = int(route["metadata"].get("generation") or 0)
    seen = [(get_condition(each, "Accepted") or {}).get("observedGeneration") for each in _taken_by(route, gateway)]
    return any(not number or int(number) >= generation for number in seen)


def _taken_by(route: Found, gateway: str) -> list[list[JsonObject]]:
    """The conditions of each who has taken the route on for this Gateway."""
    if not isinstance(route, dict):
        return []
    namespace = route["metadata"].get("namespace")
    found = []
    for parent in (route.get("status") or {}).get("parents") or ():
        ref, conditions = parent.get("parentRef") or {}, parent.get("conditions") or []
        is_here = ref.get("name") == gateway and ref.get("namespace") in (None, "", namespace)
        if is_here and all(is_condition_true(conditions, type_) for type_ in ("Accepted", "ResolvedRefs")):
            found.append(conditions)
    return found


def plan_gateway(observed: ObservedService) -> Part:
    wanted = build_gateway(observed.service)
    bad_class = _refuse_class(observed, wanted)
    if bad_class.waits:
        kept = {**wanted["spec"], "gatewayClassName": _class_of(find_gateway(observed))}
        return join((_ensure(observed, GATEWAY, {**wanted, "spec": kept}), bad_class))
    part = _ensure(observed, GATEWAY, wanted)
    if part.waits or part.actions or is_gateway_ready(find_gateway(observed)):
        return part
    return wait_beside(Hold.GATEWAY, _tell_gateway(observed, wanted), "it is accepted and programmed")


def _refuse_class(observed: ObservedService, wanted: JsonObject) -> Part:
    """A Gateway that is there is not given a class that nobody carries out: all requests go through it.

    Where classes cannot be read, or the class that it has is not there either, they tell nothing, and the spec is
    believed. Differs from KubeRay: rayservice-gateway-class.
    """
    gateway, name = find_gateway(observed), wanted["spec"]["gatewayClassName"]
    if not isinstance(gateway, dict) or not observed.owns(gateway) or _class_of(gateway) == name:
        return NOTHING
    trouble = tell_bad_class(observed, name)
    if not trouble or not isinstance(observed.find(GATEWAY_CLASS, _class_of(gateway)), dict):
        return NOTHING
    message = f"{CLASS_FIELD}: {trouble}; the Gateway stays with {_class_of(gateway)}"
    told = class_not_found(f"{observed.service.metadata.namespace}/{gateway['metadata']['name']}", message)
    return wait_beside(Hold.NO_GATEWAY_CLASS, message, "there is one, or another one is named", events=(told,))


def tell_bad_class(observed: ObservedService, name: str) -> str:
    """Why nobody would carry out a Gateway of this class; empty: somebody does, or classes cannot be read."""
    found = observed.find(GATEWAY_CLASS, name)
    if found is None:
        return f"there is no GatewayClass {name}"
    if isinstance(found, Unknown) or _is_carried_out(found):
        return ""
    return f"GatewayClass {name} is not accepted by anybody"


def _is_carried_out(gateway_class: JsonObject) -> bool:
    """Who does not tell is believed."""
    conditions = (gateway_class.get("status") or {}).get("conditions")
    return get_condition(conditions, "Accepted") is None or is_condition_true(conditions, "Accepted")


def _class_of(gateway: Found) -> str:
    return str(gateway["spec"].get("gatewayClassName")) if isinstance(gateway, dict) else ""


def _tell_gateway(observed: ObservedService, wanted: JsonObject) -> str:
    gateway, class_name = find_gateway(observed), wanted["spec"]["gatewayClassName"]
    conditions = (gateway.get("status") or {}).get("conditions") if isinstance(gateway, dict) else None
    said = [
        f"{type_} is {condition.get('status')}: {condition.get('message') or condition.get('reason')}"
        for type_ in ("Accepted", "Programmed")
        if (condition := get_condition(conditions, type_)) is not None and condition.get("status") != "True"
    ]
    told = "; ".join(said) or "nobody has taken it on"
    return f"Gateway {wanted['metadata']['name']}: {told} ({CLASS_FIELD} is {class_name})"


def plan_route(observed: ObservedService, weights: Sequence[tuple[str, int]]) -> Part:
    """Only what can be resolved is put on the route: a cluster whose Service is not there would answer with errors."""
    there = [(cluster, weight) for cluster, weight in weights if has_serve_service(observed, cluster)]
    if not any(weight for _, weight in there):
        return NOTHING
    is_waiting = len(there) < len(weights)  # for a Service: what has no requests may stay on the route until then
    if is_waiting and find_used(find_route(observed)) == {cluster for cluster, _ in there}:
        return NOTHING
    shares = [(cluster, find_serve_port(observed.spec_of(cluster)), weight) for cluster, weight in there]
    return _ensure(observed, HTTP_ROUTE, build_route(observed.service, shares))


def plan_former_route(observed: ObservedService) -> Part:
    """Of a service that no longer moves in steps: its route leads to the serve Service, which follows the clusters.

    Else it would lead to a Service that goes with the cluster it was of. Differs from KubeRay: rayservice-former-route.
    """
    route = observed.find_if_read(HTTP_ROUTE, route_name(observed.service.metadata.name))
    service = observed.find_serve_service()
    if route is None or not observed.owns(route) or not isinstance(service, dict) or not observed.owns(service):
        return NOTHING
    ports = {port.get("name"): int(port["port"]) for port in service["spec"].get("ports") or ()}
    can_take = not isinstance(observed.endpoints, Unknown) and observed.endpoints > 0 and "serve" in ports
    if observed.pending_name or not can_take:  # two clusters may still share the requests, each with its capacity
        return NOTHING
    return _ensure(observed, HTTP_ROUTE, build_whole_route(observed.service, ports["serve"]))


def find_used(route: Found) -> set[str]:
    """The clusters that get requests."""
    shown = _read_back_ends(route) if isinstance(route, dict) else {}
    return {name.removesuffix(cluster_serve_service_name("")) for name, weight in shown.items() if weight}


def has_serve_service(observed: ObservedService, cluster: str) -> bool:
    return isinstance(observed.find(SERVICE, cluster_serve_service_name(cluster)), dict)


def plan_cluster_service(observed: ObservedService, cluster: JsonObject) -> Part:
    """Made once, and never changed (rayservice.md §6.2)."""
    name, uid = cluster["metadata"]["name"], cluster["metadata"]["uid"]
    wanted = build_cluster_serve_service(observed.service, name, uid, observed.spec_of(name))
    if isinstance(wanted, Impossible):
        return wait_for(CommonHold.IMPOSSIBLE, wanted.message, "the spec is changed")
    if cluster["metadata"].get("deletionTimestamp"):
        return NOTHING
    found = observed.find(SERVICE, wanted["metadata"]["name"])
    if isinstance(found, Unknown):
        return wait_for_knowledge(str(ref_of(wanted)), found)
    if found is None:
        return Part(actions=(Create(wanted, Because.MISSING),))
    return NOTHING if is_controlled_by(found, uid) else name_taken(ref_of(wanted), "RayCluster")


def _ensure(observed: ObservedService, kind: KindName, wanted: JsonObject) -> Part:
    ref, report = ref_of(wanted), report_gateway if kind == GATEWAY else report_route
    found = observed.find(kind, ref.name)
    if isinstance(found, Unknown):
        return wait_beside(Hold.NO_GATEWAY_API, f"{ref}: {found.why}", "the Gateway API is served, and can be read")
    if found is None:
        return Part(actions=(Create(wanted, Because.MISSING, report("Create", ref)),))
    if not observed.owns(found):
        return name_taken(ref, observed.owner_kind)
    drift = find_drift(found["spec"], wanted["spec"], kind)
    if found["metadata"].get("deletionTimestamp") or not drift:
        return NOTHING
    because = Because.GATEWAY_DIFFERS if kind == GATEWAY else Because.WEIGHTS_MOVE
    return Part(actions=(patch_of(found, {"spec": drift}, because, report("Update", ref)),))
