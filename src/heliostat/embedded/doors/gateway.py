"""The Gateway API: its definitions, and the class of Gateways that the local node carries out."""

from heliostat.embedded.gateway.conditions import HOST_ADDRESS
from heliostat.embedded.gateway.definitions import (
    API_VERSION,
    CLASS_NAME,
    CONTROLLER_NAME,
    GATEWAY,
    GATEWAY_CLASS,
    HTTP_ROUTE,
    build_gateway_class,
    gateway_crds,
)
from heliostat.embedded.gateway.fronts import HOST_PORT

__all__ = [
    "API_VERSION",
    "CLASS_NAME",
    "CONTROLLER_NAME",
    "GATEWAY",
    "GATEWAY_CLASS",
    "HOST_ADDRESS",
    "HOST_PORT",
    "HTTP_ROUTE",
    "build_gateway_class",
    "gateway_crds",
]
