"""Services, nodes and Pods with addresses, for tests of their endpoints."""

from typing import Any

from embedded.controllers.plan_world import World
from heliostat.embedded.controllers.endpoints.reconcilers import EndpointSliceReconciler, EndpointsReconciler
from heliostat.embedded.controllers.views.endpoint_slices import ENDPOINT_SLICES
from heliostat.embedded.controllers.views.endpoints import ENDPOINTS
from heliostat.embedded.controllers.views.nodes import NODES
from heliostat.embedded.controllers.views.pods import PODS
from heliostat.embedded.controllers.views.services import SERVICES
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Ref

KEY = Key("ns", "web")
SERVICE_REF = Ref("v1", "Service", "ns", "web")
HTTP = {"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}


def service(**spec: Any) -> JsonObject:
    defaults = {"clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "selector": {"app": "web"}, "ports": [HTTP]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "ns", "labels": {"team": "a"}},
        "spec": {**defaults, **spec},
    }


def node(name: str = "n", zone: str = "z") -> JsonObject:
    labels = {"topology.kubernetes.io/zone": zone}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def serving_pod(number: int, *, ready: bool = True, **spec: Any) -> JsonObject:
    address = f"10.1.{number // 250}.{number % 250}"
    since = f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z"
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number:04}", "namespace": "ns", "labels": {"app": "web"}, "uid": f"pod-{number}"},
        "spec": {"nodeName": "n", "containers": [{"name": "c"}], **spec},
        "status": {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}, {"ip": f"fd00::{number + 1:x}"}],
            "conditions": [condition],
        },
    }


class Services(World):
    def __init__(self, **spec: Any) -> None:
        super().__init__(SERVICES, PODS, NODES, ENDPOINT_SLICES, ENDPOINTS)
        self.slices = EndpointSliceReconciler(self.caches)
        self.endpoints = EndpointsReconciler(self.caches)
        self.add(node())
        self.add(service(**spec))

    def look(self) -> tuple[Plan, Plan]:
        return self.reconcile(self.slices, KEY), self.reconcile(self.endpoints, KEY)

    def addresses(self) -> list[str]:
        return sorted(
            address
            for item in self.of("EndpointSlice")
            for endpoint in item["endpoints"]
            for address in endpoint["addresses"]
        )
