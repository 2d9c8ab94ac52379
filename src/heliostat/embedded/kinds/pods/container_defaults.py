"""What kube-apiserver fills into a container, its ports, probes, handlers and variables, in place."""

from typing import Any

from heliostat.embedded.kinds.pods.images import pull_policy
from heliostat.kube.jsontree import JsonObject

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS = (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))


def fill_container(container: JsonObject) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom")
        if source and "fieldRef" in source:
            fill_field_reference(source["fieldRef"])
    for name in _PROBES:
        if name in container:
            _fill_probe(container[name])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _fill_http_action(handler)


def fill_field_reference(reference: JsonObject) -> None:
    reference.setdefault("apiVersion", "v1")


def _fill_probe(probe: JsonObject) -> None:
    for name, value in _PROBE_DEFAULTS:
        probe.setdefault(name, value)
    _fill_http_action(probe)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _fill_http_action(handler: JsonObject) -> None:
    action: Any = handler.get("httpGet")
    if action is not None:
        action.setdefault("path", "/")
        action.setdefault("scheme", "HTTP")
