"""What a local Heliostat consists of: which processes, with which arguments, and what the server has to know first."""

import asyncio
import os
import socket
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from heliostat.api.crds import all_crds
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.local.state import State
from heliostat.local.supervisor import Command, Supervisor
from heliostat.runtime.client import Client
from heliostat.runtime.errors import AlreadyExistsError
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection

_CRD = ResourceType(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", is_namespaced=False
)


class LocalOptions(Struct, frozen=True, kw_only=True):
    is_ephemeral: bool = False
    port: int = 0
    images: Path | None = None
    strict: bool = False
    operator_flags: tuple[str, ...] = ()
    node_flags: tuple[str, ...] = ()


def build_supervisor(state: State, options: LocalOptions) -> Supervisor:
    return Supervisor(
        state,
        Command("control-plane", _server_arguments(state, options)),
        (
            Command("operator", _operator_arguments(state, options)),
            Command("node", _node_arguments(state, options)),
        ),
        lambda: prepare_server(state.kubeconfig),
        is_ephemeral=options.is_ephemeral,
    )


def _server_arguments(state: State, options: LocalOptions) -> tuple[str, ...]:
    port = choose_port(state, options.port)
    return (
        "apiserver",
        "--controllers",
        f"--data={state.server}",
        f"--kubeconfig={state.kubeconfig}",
        f"--port={port}",
        f"--node-socket={state.node_socket}",
        *(("--memory",) if options.is_ephemeral else ()),
    )


def _operator_arguments(state: State, options: LocalOptions) -> tuple[str, ...]:
    return (
        "operator",
        f"--kubeconfig={state.kubeconfig}",
        "--enable-leader-election=false",
        "--metrics-addr=127.0.0.1:0",
        "--health-probe-bind-address=127.0.0.1:0",
        *options.operator_flags,
    )


def _node_arguments(state: State, options: LocalOptions) -> tuple[str, ...]:
    return (
        "node",
        f"--kubeconfig={state.kubeconfig}",
        f"--state={state.node}",
        f"--socket={state.node_socket}",
        *((f"--images={options.images}",) if options.images is not None else ()),
        *(("--strict",) if options.strict else ()),
        *options.node_flags,
    )


def choose_port(state: State, wanted: int) -> int:
    """The same one at every start, so that a kubeconfig stays good."""
    kept = state.path / "port"
    if wanted:
        return wanted
    if kept.exists():
        return int(kept.read_text())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    kept.write_text(str(port))
    return port


async def prepare_server(kubeconfig: Path) -> None:
    """The server answers, and serves the ray.io kinds. Raises what is in the way."""
    if not kubeconfig.exists():
        raise ConnectionError("the control plane has not written its kubeconfig yet")
    transport = HttpsTransport(find_connection(os.environ, kubeconfig, ""), "heliostat-up")
    try:
        client = Client(transport, clock=time.monotonic, request_seconds=10.0)
        await asyncio.gather(*(_install(client, tree) for tree in all_crds()))
    finally:
        await transport.close()


async def _install(client: Client, tree: JsonObject) -> None:
    try:
        await client.create(_CRD, tree)
    except AlreadyExistsError:
        found = msgspec.json.decode(await client.get(_CRD, "", tree["metadata"]["name"]))
        version = found["metadata"]["resourceVersion"]
        await client.replace(_CRD, {**tree, "metadata": {**tree["metadata"], "resourceVersion": version}})
