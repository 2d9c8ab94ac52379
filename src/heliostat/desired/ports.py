"""Ports of the head, as containers name them and as Services offer them (constants.md §5.2)."""

from heliostat.api.markers import JsonObject
from heliostat.kube.counts import read_whole

GCS_PORT = 6379
DASHBOARD_PORT = 8265
METRICS_PORT = 8080
DASHBOARD_AGENT_PORT = 52365
SERVE_PORT = 8000

DEFAULT_SERVICE_PORTS = {
    "client": 10001,
    "gcs-server": GCS_PORT,
    "dashboard": DASHBOARD_PORT,
    "metrics": METRICS_PORT,
    "serve": SERVE_PORT,
}


def service_ports(container: JsonObject) -> dict[str, int]:
    """Name to number: the head container's ports, or the defaults when it names none; always one for metrics."""
    ports = {
        port.get("name") or f"{port['containerPort']}-port": int(port["containerPort"])
        for port in container.get("ports") or []
    }
    ports = ports or dict(DEFAULT_SERVICE_PORTS)
    ports.setdefault("metrics", METRICS_PORT)
    return ports


def is_serving_port(name: str) -> bool:
    return name == "serve" or name.startswith("serve-")


def container_port(container: JsonObject, name: str, default: int) -> int:
    for port in container.get("ports") or []:
        if port.get("name") == name:
            return int(port["containerPort"])
    return default


def port_param(params: dict[str, str], key: str, default: int) -> int:
    """A port from rayStartParams, when it is a 32-bit integer."""
    port = read_whole(params.get(key, ""))
    return port if port is not None and -(2**31) <= port < 2**31 else default


def add_metrics_port(container: JsonObject) -> None:
    ports = container.get("ports") or []
    if not any(port.get("name") == "metrics" for port in ports):
        container["ports"] = [*ports, {"name": "metrics", "containerPort": METRICS_PORT}]
