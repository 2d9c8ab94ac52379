"""What kube-apiserver fills into a Service before it gets addresses, and what the types of Services need.

Rules: a target port is the port unless it says otherwise; each type has the policies that concern it.
"""

from heliostat.kube.jsontree import JsonObject

CLUSTER_IP, NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"
HEADLESS = "None"
AFFINITY_SECONDS = 10800


def fill_service(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    _fill_affinity(spec)
    kind = spec.setdefault("type", CLUSTER_IP)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if is_reachable_from_outside(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in (CLUSTER_IP, NODE_PORT, LOAD_BALANCER):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == LOAD_BALANCER:
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in ((tree.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _fill_affinity(spec: JsonObject) -> None:
    match spec.setdefault("sessionAffinity", "None"):
        case "None":
            spec.pop("sessionAffinityConfig", None)
        case "ClientIP":
            given = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
            if given.get("timeoutSeconds") is None:
                spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}


def is_reachable_from_outside(spec: JsonObject) -> bool:
    kind = spec.get("type")
    return kind in (LOAD_BALANCER, NODE_PORT) or (kind == CLUSTER_IP and bool(spec.get("externalIPs")))


def is_headless(spec: JsonObject) -> bool:
    return spec.get("clusterIPs") == [HEADLESS]


def needs_health_check(spec: JsonObject) -> bool:
    return spec.get("type") == LOAD_BALANCER and spec.get("externalTrafficPolicy") == "Local"


def needs_node_ports(spec: JsonObject) -> bool:
    return spec.get("type") in (NODE_PORT, LOAD_BALANCER)
