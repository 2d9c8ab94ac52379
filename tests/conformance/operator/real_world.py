"""A world on a real control plane: kube-apiserver, kube-controller-manager, kube-scheduler, and kwok for the nodes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tools.kubernetes.run import CONTROLLERS
from tools.kubernetes.run import ControlPlane as RealControlPlane

from conformance.operator.administrator import Administrator
from conformance.operator.issuing import issue_for_ever
from conformance.operator.own_world import CAPACITY
from conformance.operator.worlds import Pace, World
from heliostat.embedded.controllers.nodes.machines import build_machines, build_node
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.program import Clocks
from heliostat.runtime.transport import Transport

PACE = Pace(quiet=15.0, look=0.5, request=60.0)  # a busy machine must not look like a failing server
NODES = 40  # all cases are there at once
NODE = ResourceType("v1", "Node", "nodes", is_namespaced=False)


@asynccontextmanager
async def real_world() -> AsyncIterator[World]:
    with RealControlPlane.started(CONTROLLERS) as cluster:
        connection = find_connection({}, cluster.kubeconfig)

        def connect(user: str) -> Transport:
            return HttpsTransport(connection, user)

        world = World(connect, PACE, Clocks(), [])
        try:
            await world.install_kinds()
            await _add_nodes(world)
            async with _issuing(world.admin):
                yield world
        finally:
            await world.admin.close()


@asynccontextmanager
async def _issuing(admin: Administrator) -> AsyncIterator[None]:
    task = asyncio.create_task(issue_for_ever(admin))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _add_nodes(world: World) -> None:
    for machine in build_machines(NODES, CAPACITY):
        await world.admin.create(NODE, build_node(machine, "2027-01-01T00:00:00Z"))
    await world.until(lambda: _are_ready(world.admin))


async def _are_ready(admin: Administrator) -> bool:
    nodes = await admin.items(NODE)
    return len(nodes) == NODES and not any(node["spec"].get("taints") for node in nodes)
