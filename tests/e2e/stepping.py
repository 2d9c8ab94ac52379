"""RayServices that move in steps, through the gateway of the local node, and how far such a move has come."""

import json

from e2e.services import RealService, Tree, build_service

GATEWAY_URL = "http://stand-gateway-heliostat"


def build_stepping(version: str, interval: int = 3) -> Tree:
    """Its clusters get requests in quarters, and capacity in halves. Another version is another cluster."""
    steps = {"stepSizePercent": 25, "intervalSeconds": interval, "maxSurgePercent": 50}
    options = {"gatewayClassName": "heliostat", **steps}
    strategy = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": options}
    return build_service(version, cluster={"enableInTreeAutoscaling": True}, upgradeStrategy=strategy)


def has_route(service: RealService) -> bool:
    """Requests get through: Ready tells of Pods alone, as it does in KubeRay."""
    name = f"{service.name}-httproute"
    found = service.machine.kubectl("get", "httproute", name, "--ignore-not-found", "-o", "json")
    parents = json.loads(found or "{}").get("status", {}).get("parents", [])
    told = {each["type"]: each["status"] for parent in parents for each in parent["conditions"]}
    return told.get("Accepted") == told.get("ResolvedRefs") == "True"


def read_share(service: RealService) -> int:
    """Of the requests, in percent, that go to the pending cluster."""
    return int((service.status().get("pendingServiceStatus") or {}).get("trafficRoutedPercent") or 0)


def list_backends(service: RealService) -> list[tuple[str, int]]:
    """Who gets requests by the HTTPRoute, and how many of a hundred."""
    route = json.loads(service.machine.kubectl("get", "httproute", f"{service.name}-httproute", "-o", "json"))
    return [(each["name"], each["weight"]) for each in route["spec"]["rules"][0]["backendRefs"]]


def is_back(service: RealService, cluster: str) -> bool:
    """All is as it was before the upgrade: one cluster, which has every request."""
    conditions = [service.condition(each)[0] for each in ("UpgradeInProgress", "RollbackInProgress")]
    return (
        service.clusters() == [cluster]
        and not service.pending()
        and "True" not in conditions
        and list_backends(service) == [(f"{cluster}-serve-svc", 100)]
    )
