"""The Gateway API: its definitions, and the class of Gateways that the local node carries out."""

from heliostat.embedded.gateway.definitions import (
    CLASS_NAME,
    CONTROLLER_NAME,
    GATEWAY,
    GATEWAY_CLASS,
    HTTP_ROUTE,
    build_gateway_class,
    gateway_crds,
)

__all__ = [
    "CLASS_NAME",
    "CONTROLLER_NAME",
    "GATEWAY",
    "GATEWAY_CLASS",
    "HTTP_ROUTE",
    "build_gateway_class",
    "gateway_crds",
]
