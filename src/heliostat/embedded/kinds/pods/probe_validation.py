"""Probes and lifecycle handlers of a container: exactly one way to act, at a port that can exist."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from heliostat.embedded.kinds.rules.causes import each_invalid, forbidden, invalid, negative, not_supported, required
from heliostat.embedded.kinds.rules.text_rules import header_name_problems, port_name_problems, port_number_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

Action: TypeAlias = Callable[[JsonObject, int, str], Iterator[Cause]]

_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def container_probe_causes(container: JsonObject, grace: int, path: str) -> Iterator[Cause]:
    lifecycle = container.get("lifecycle")
    if lifecycle is not None:
        for name in ("postStart", "preStop"):
            if name in lifecycle:
                yield from _handler_causes(lifecycle[name], grace, f"{path}.lifecycle.{name}")
    for name in PROBES:
        if name in container:
            yield from _probe_causes(name, container[name], grace, f"{path}.{name}")


def _probe_causes(name: str, probe: JsonObject, grace: int, path: str) -> Iterator[Cause]:
    yield from _handler_causes(probe, grace, path)
    for count in _COUNTS:
        yield from negative(f"{path}.{count}", probe.get(count))
    own_grace = probe.get("terminationGracePeriodSeconds")
    if own_grace is not None and own_grace <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", own_grace, "must be greater than 0")
    if name == "readinessProbe":
        if own_grace is not None:
            why = "must not be set for readinessProbes"
            yield invalid(f"{path}.terminationGracePeriodSeconds", own_grace, why)
    elif probe.get("successThreshold") != 1:
        yield invalid(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1")


def _handler_causes(handler: JsonObject, grace: int, path: str) -> Iterator[Cause]:
    actions = [name for name in ACTIONS if name in handler]
    if not actions:
        yield required(path, "must specify a handler type")
    for position, name in enumerate(actions):
        if position:
            yield forbidden(f"{path}.{name}", "may not specify more than 1 handler type")
        else:
            yield from ACTIONS[name](handler[name], grace, f"{path}.{name}")


def port_causes(port: Any, path: str) -> list[Cause]:
    """A number or the name of a container's port."""
    problems = port_name_problems(port) if isinstance(port, str) else port_number_problems(port)
    return each_invalid(path, port, problems)


def _exec(action: JsonObject, _grace: int, path: str) -> Iterator[Cause]:
    if not action.get("command"):
        yield required(f"{path}.command")


def _http(action: JsonObject, _grace: int, path: str) -> Iterator[Cause]:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from port_causes(action.get("port", 0), f"{path}.port")
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        yield not_supported(f"{path}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        yield from each_invalid(f"{path}.httpHeaders", name, header_name_problems(name))


def _port(action: JsonObject, _grace: int, path: str) -> Iterator[Cause]:
    yield from port_causes(action.get("port", 0), f"{path}.port")


def _sleep(action: JsonObject, grace: int, path: str) -> Iterator[Cause]:
    seconds = action.get("seconds", 0)
    if not 0 <= seconds <= grace:
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield invalid(path, seconds, why)


ACTIONS: dict[str, Action] = {"exec": _exec, "httpGet": _http, "tcpSocket": _port, "grpc": _port, "sleep": _sleep}
