"""Requests that end on a node: which Pod, container, address and port they mean, and why they cannot be served.

Rules: a Pod with several containers needs one named; a Pod without a node has no log yet and takes no commands; a
Service is reached through its endpoints. Everything that can be refused is refused before the back end is asked.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from heliostat.embedded.kinds.rules.address_rules import endpoint_ip_causes
from heliostat.embedded.kinds.rules.causes import NOT_NEGATIVE
from heliostat.embedded.kinds.rules.causes import invalid as invalid_value
from heliostat.embedded.refusals import PlainRefusedError, RefusedError, bad_request, invalid, not_found
from heliostat.embedded.server.messages import Answer, Request, Response
from heliostat.embedded.server.nodes.node_backend import Execution, LogOptions, NodeBackend, Proxied
from heliostat.embedded.server.nodes.service_endpoints import ServiceEndpoints
from heliostat.embedded.server.targets import Target
from heliostat.embedded.server.upgrades.commands import build_command_upgrade
from heliostat.embedded.server.upgrades.forwards import Describe, build_forward_upgrade
from heliostat.embedded.server.upgrades.negotiation import is_upgrade, negotiate
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject

NODE_PORT = 10250
_LONGEST_PORT = 5  # digits
_LARGEST_PORT = 65535


class NodeConnections:
    def __init__(self, store: Store, backend: NodeBackend | None, random_index: Callable[[int], int]) -> None:
        self._store = store
        self._backend = backend
        self._endpoints = ServiceEndpoints(store, random_index)

    async def read_log(self, request: Request, target: Target) -> Answer:
        options, causes = _read_log_options(request)
        if causes:
            raise invalid("PodLogOptions", "", target.name, causes)
        pod = self._find("pods", target.namespace, target.name)
        options = msgspec.structs.replace(options, container=choose_container(pod, options.container))
        if not pod["spec"].get("nodeName"):
            return Response(204, b"", content_type="")
        if (backend := await self._reach()) is not None:
            return await backend.read_log(pod, options)
        address = self._node_address(pod)
        place = f"containerLogs/{target.namespace}/{target.name}/{options.container}"
        why = f'Get "https://{address}:{NODE_PORT}/{place}": {_refused(address, NODE_PORT)}'
        raise RefusedError(500, "", why)

    async def connect(self, request: Request, target: Target) -> Answer:
        """The protocols of ``exec``, ``attach`` and ``portforward`` end here; the back end sees streams."""
        pod = self._find("pods", target.namespace, target.name)
        is_forward = target.subresource == "portforward"
        container = "" if is_forward else choose_container(pod, request.parameter("container"))
        ports = tuple(_read_ports(request))
        if not pod["spec"].get("nodeName"):
            raise bad_request(f"pod {target.name} does not have a host assigned")
        if (backend := await self._reach()) is None:
            raise self._no_answer(pod, request)
        if is_forward:
            spoken = negotiate(request, "forward")
            return build_forward_upgrade(spoken, ports, partial(backend.forward, pod), _failed_forward(pod))
        spoken, execution = negotiate(request, "command"), _read_execution(request, target, container)
        run = backend.execute if target.subresource == "exec" else backend.attach
        return build_command_upgrade(spoken, execution, target.subresource, partial(run, pod, execution))

    def _no_answer(self, pod: JsonObject, request: Request) -> RefusedError:
        address = self._node_address(pod)
        if not is_upgrade(request):
            return bad_request("Upgrade request required")
        return RefusedError(500, "", f"error dialing backend: {_refused(address, NODE_PORT)}")

    async def proxy_pod(self, request: Request, target: Target) -> Answer:
        scheme, name, port = _split_name(target.name)
        pod = self._find("pods", target.namespace, name)
        address = (pod.get("status") or {}).get("podIP", "")
        number = int(port) if port.isdecimal() else _first_port(pod)
        if endpoint_ip_causes("", address):
            raise bad_request("address not allowed")
        return await self._proxy(Proxied(scheme=scheme, address=address, port=number, path=target.rest), request)

    async def proxy_service(self, request: Request, target: Target) -> Answer:
        scheme, name, port = _split_name(target.name)
        if port.isdecimal():
            port = self._port_name(target.namespace, name, int(port))
        address, number = self._endpoints.choose(target.namespace, name, port, shown=target.name)
        return await self._proxy(Proxied(scheme=scheme, address=address, port=number, path=target.rest), request)

    async def proxy_node(self, request: Request, target: Target) -> Answer:
        node = self._find("nodes", "", _split_name(target.name)[1])
        if (backend := await self._reach()) is not None:
            return await backend.proxy_node(node, target.rest, request)
        raise _unreachable(_preferred_address(node), NODE_PORT)

    async def _proxy(self, proxied: Proxied, request: Request) -> Answer:
        if (backend := await self._reach()) is None:
            raise _unreachable(proxied.address, proxied.port)
        return await backend.proxy(proxied, request)

    async def _reach(self) -> NodeBackend | None:
        return self._backend if self._backend is not None and await self._backend.is_reachable() else None

    def _find(self, resource: str, namespace: str, name: str, *, shown: str = "") -> JsonObject:
        record = self._store.get(Key(resource, namespace, name))
        if record is None:
            raise not_found(shown or resource, "", name)
        tree: JsonObject = msgspec.json.decode(record.body)
        return tree

    def _node_address(self, pod: JsonObject) -> str:
        # kube-apiserver speaks of Pods here, too, when it is the node that is missing
        return _preferred_address(self._find("nodes", "", pod["spec"]["nodeName"], shown="pods"))

    def _port_name(self, namespace: str, name: str, number: int) -> str:
        service = self._find("services", namespace, name)
        for port in service["spec"].get("ports") or ():
            if port["port"] == number:
                return str(port.get("name", ""))
        why = f'no service port {number} found for service "{name}"'
        raise RefusedError(503, "ServiceUnavailable", why)


def choose_container(pod: JsonObject, name: str) -> str:
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    parts = ("initContainers", "containers", "ephemeralContainers")
    names = [container["name"] for part in parts for container in spec.get(part) or ()]
    if name:
        if name not in names:
            raise bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    if len(names) != 1:
        why = f"a container name must be specified for pod {pod_name}, choose one of: [{' '.join(names)}]"
        raise bad_request(why)
    return str(names[0])


def _read_log_options(request: Request) -> tuple[LogOptions, list[Any]]:
    numbers = {name: _read_number(request, name) for name in ("tailLines", "limitBytes", "sinceSeconds")}
    causes = []
    tail = numbers["tailLines"]
    if tail is not None and tail < 0:
        causes.append(invalid_value("tailLines", tail, NOT_NEGATIVE))
    for name in ("limitBytes", "sinceSeconds"):
        number = numbers[name]
        if number is not None and number < 1:
            causes.append(invalid_value(name, number, "must be greater than 0"))
    options = LogOptions(
        container=request.parameter("container"),
        follow=request.flag("follow"),
        previous=request.flag("previous"),
        timestamps=request.flag("timestamps"),
        since_seconds=numbers["sinceSeconds"],
        since_time=request.parameter("sinceTime") or None,
        tail_lines=tail,
        limit_bytes=numbers["limitBytes"],
    )
    return options, causes


def _read_number(request: Request, name: str) -> int | None:
    text = request.parameter(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _read_execution(request: Request, target: Target, container: str) -> Execution:
    is_exec, tty = target.subresource == "exec", request.flag("tty")
    execution = Execution(
        container=container,
        command=tuple(request.query.get("command", ())) if is_exec else (),
        stdin=request.flag("stdin"),
        stdout=request.flag("stdout"),
        stderr=request.flag("stderr") and not tty,
        tty=tty,
    )
    if not (execution.stdin or execution.stdout or execution.stderr):
        raise PlainRefusedError(400, "", "you must specify at least 1 of stdin, stdout, stderr")
    return execution


def _read_ports(request: Request) -> Iterator[int]:
    for port in (port for value in request.query.get("ports", ()) for port in value.split(",")):
        if not (port.isascii() and port.isdecimal() and len(port) <= _LONGEST_PORT and 0 < int(port) <= _LARGEST_PORT):
            raise bad_request(
                f"{port[:_LONGEST_PORT]!r} is not the number of a port; use one from 1 to {_LARGEST_PORT}"
            )
        yield int(port)


def _failed_forward(pod: JsonObject) -> Describe:
    name, uid = pod["metadata"]["name"], pod["metadata"].get("uid", "")
    return lambda port, why: f"error forwarding port {port} to pod {name}, uid {uid}: {why}"


def _split_name(text: str) -> tuple[str, str, str]:
    """``[scheme:]name[:port]``."""
    parts = text.split(":")
    port = parts[-1] if len(parts) > 1 else ""
    if port.isdecimal() and not (port.isascii() and len(port) <= _LONGEST_PORT):
        raise bad_request(f"{port[:_LONGEST_PORT]}… is not the number of a port; use one from 1 to 65535")
    return (parts[0] or "http", parts[1], port) if len(parts) == 3 else ("http", parts[0], port)


def _first_port(pod: JsonObject) -> int:
    ports = [port for container in pod["spec"].get("containers") or () for port in container.get("ports") or ()]
    return int(ports[0]["containerPort"]) if ports else 80


def _preferred_address(node: JsonObject) -> str:
    addresses = (node.get("status") or {}).get("addresses") or []
    for kind in ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"):
        for address in addresses:
            if address.get("type") == kind:
                return str(address["address"])
    raise RefusedError(500, "", f"no preferred addresses found; known addresses: {addresses}")


def _refused(address: str, port: int) -> str:
    return f"dial tcp {address}:{port}: connect: connection refused"


def _unreachable(address: str, port: int) -> RefusedError:
    return RefusedError(503, "ServiceUnavailable", f"error trying to reach service: {_refused(address, port)}")
