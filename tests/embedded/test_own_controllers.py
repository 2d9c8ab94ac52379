"""The controllers in the server's own process: they begin when Pods can be made, and a bug in them is not hidden."""

import asyncio

import pytest

from heliostat.embedded.controllers.nodes.machines import build_machines
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.in_process import Handle
from heliostat.embedded.own_controllers import ControllerOptions, OwnControllers
from heliostat.embedded.server.messages import Answer, Request
from heliostat.testing import ApiServer


def build(handle: Handle, nodes: int = 0) -> OwnControllers:
    options = ControllerOptions(simulation=Simulation(build_machines(nodes)) if nodes else None)
    return OwnControllers(handle, options, root_certificate="", data=None, on_bug=lambda _error: None)


def test_they_have_started_when_pods_can_be_made() -> None:
    async def run() -> None:
        async with ApiServer() as server, asyncio.timeout(60):
            controllers = build(server.handle, nodes=3)
            await controllers.start()
            nodes = (await server.request("GET", "/api/v1/nodes"))["items"]
            account = await server.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")
            await controllers.stop()
            assert len(nodes) == 3
            assert account["kind"] == "ServiceAccount"

    asyncio.run(run())


def test_a_bug_at_the_start_is_raised() -> None:
    async def broken(_request: Request) -> Answer:
        raise KeyError("a bug")

    async def run() -> None:
        async with asyncio.timeout(60):
            with pytest.raises(ExceptionGroup) as raised:
                await build(broken).start()
            assert raised.group_contains(KeyError, match="a bug")

    asyncio.run(run())


def test_a_bug_later_ends_them_and_is_told() -> None:
    async def run() -> None:
        async with ApiServer() as server, asyncio.timeout(60):
            is_broken = False

            async def handle(request: Request) -> Answer:
                if is_broken and request.flag("watch"):
                    raise KeyError("a bug")
                return await server.handle(request)

            controllers = build(handle)
            await controllers.start()
            ending = asyncio.create_task(controllers.wait_ended())
            is_broken = True
            definition = {"name": "things.example.com"}
            names = {"plural": "things", "kind": "Thing"}
            version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            await server.request("POST", path, {"metadata": definition, "spec": spec})
            error = await ending
            assert isinstance(error, ExceptionGroup)
            assert error.subgroup(KeyError) is not None

    asyncio.run(run())
