"""Objects of the Gateway API and Services for tests, in few words."""

from ipaddress import IPv4Address
from typing import Any

import msgspec

from heliostat.embedded.gateway.directory import Directory, Endpoint, KnownService, ServicePort
from heliostat.embedded.gateway.objects import Gateway, HttpRoute

HTTP: dict[str, Any] = {"name": "http", "port": 80, "protocol": "HTTP"}


def gateway(*listeners: dict[str, Any], name: str = "web", **spec: Any) -> Gateway:
    metadata = {"name": name, "namespace": "ns", "generation": 3, "uid": f"uid-{name}", "resourceVersion": "1"}
    spec = {"gatewayClassName": "heliostat", "listeners": list(listeners) or [HTTP], **spec}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Gateway)


def path(value: str, type_: str = "PathPrefix", **more: Any) -> dict[str, Any]:
    return {"path": {"type": type_, "value": value}, **more}


def backend(name: str, weight: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "port": 80, "weight": weight, **more}


def rule(*matches: dict[str, Any], to: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    backends = [backend("one")] if to is None else to
    return {"matches": list(matches) or [path("/")], "backendRefs": backends, **more}


def route(*rules: dict[str, Any], name: str = "route", namespace: str = "ns", age: int = 0, **spec: Any) -> HttpRoute:
    metadata = {
        "name": name,
        "namespace": namespace,
        "generation": 5,
        "creationTimestamp": f"2026-01-01T00:00:{age:02}Z",
        "uid": f"uid-{name}",
        "resourceVersion": "1",
    }
    spec = {"parentRefs": [{"name": "web"}], "rules": list(rules) or [rule()], **spec}
    return msgspec.convert({"metadata": metadata, "spec": spec}, HttpRoute)


def services(*names: str, address: str = "127.0.0.1", ports: dict[str, int] | None = None) -> Directory:
    """Each with one Pod behind it; at 8080 unless ``ports`` says otherwise."""
    directory = Directory()
    for name in names:
        directory.put_service(KnownService(namespace="ns", name=name, ports=(ServicePort(80, "http"),)))
        there = (ServicePort((ports or {}).get(name, 8080), "http"),)
        directory.put_endpoints("ns", name, name, [Endpoint(address=IPv4Address(address), ports=there)])
    return directory
