"""The kinds of the Gateway API as the local control plane serves them, and the class of Gateways that is ours.

The definitions are data that ``tools/generate_gateway_crds.py`` writes from the published ones.
"""

from pathlib import Path

import msgspec

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType

GROUP = "gateway.networking.k8s.io"
API_VERSION = f"{GROUP}/v1"
CLASS_NAME = "heliostat"
CONTROLLER_NAME = "heliostat.dev/gateway"  # a GatewayClass that names it is carried out here, whatever it is called

GATEWAY_CLASS = ResourceType(API_VERSION, "GatewayClass", "gatewayclasses", is_namespaced=False)
GATEWAY = ResourceType(API_VERSION, "Gateway", "gateways")
HTTP_ROUTE = ResourceType(API_VERSION, "HTTPRoute", "httproutes")

_DATA = Path(__file__).parent / "data/crds.json"


def gateway_crds() -> list[JsonObject]:
    """Installable in this order, or any other."""
    return msgspec.json.decode(_DATA.read_bytes(), type=list[JsonObject])


def build_gateway_class() -> JsonObject:
    return {
        "apiVersion": API_VERSION,
        "kind": GATEWAY_CLASS.kind,
        "metadata": {"name": CLASS_NAME},
        "spec": {"controllerName": CONTROLLER_NAME, "description": "The gateway of the local node"},
    }
