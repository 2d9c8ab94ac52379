"""The gateway's controllers on an embedded server, without a node: what objects are told, and what is made for them."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.gateway.definitions import (
    API_VERSION,
    GATEWAY,
    GATEWAY_CLASS,
    HTTP_ROUTE,
    build_gateway_class,
    gateway_crds,
)
from heliostat.embedded.gateway.feed import DirectoryFeed
from heliostat.embedded.gateway.program import LocalGateway, Surface, refuse_gateways
from heliostat.embedded.in_process import InProcessTransport
from heliostat.runtime.program import Program
from heliostat.testing import ApiServer

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GATEWAYS, ROUTES = GATEWAY.collection_path("default"), HTTP_ROUTE.collection_path("default")
CLASSES, SERVICES = GATEWAY_CLASS.collection_path(), "/api/v1/namespaces/default/services"
HTTP = {"name": "http", "protocol": "HTTP", "port": 80}

Tree = dict[str, Any]


class World:
    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.problems: list[str] = []

    async def make(self, path: str, tree: Tree) -> Tree:
        made: Tree = await self.server.request("POST", path, tree)
        assert made["kind"] != "Status", made
        return made

    async def make_gateway(self, name: str, class_: str = "heliostat", **annotations: str) -> None:
        metadata = {"name": name, "annotations": annotations}
        spec = {"gatewayClassName": class_, "listeners": [HTTP]}
        await self.make(GATEWAYS, {"apiVersion": API_VERSION, "kind": "Gateway", "metadata": metadata, "spec": spec})

    async def until(self, path: str, test: Callable[[Tree], Any]) -> Tree:
        found: Tree = {}
        try:
            async with asyncio.timeout(20):
                while not found or not test(found):
                    await asyncio.sleep(0.01)
                    found = await self.server.request("GET", path)
        except TimeoutError:
            raise AssertionError(f"{path} did not become so: {found}; problems: {self.problems}") from None
        return found

    async def change(self, path: str, edit: Callable[[Tree], None]) -> None:
        tree = await self.server.request("GET", path)
        edit(tree)
        answer = await self.server.request("PUT", path, tree)
        assert answer["kind"] != "Status", answer


async def listen(_address: str, _port: int) -> socket.socket:
    """The addresses of services are no addresses of this machine."""
    return socket.create_server(("127.0.0.1", 0))


async def dial(_address: str, _port: int) -> socket.socket:
    raise ConnectionRefusedError


@asynccontextmanager
async def world(refused: str = "") -> AsyncIterator[World]:
    async with ApiServer() as server, asyncio.timeout(60):
        made = World(server)
        for tree in gateway_crds():
            await made.make(CRDS, tree)
        await made.make(CLASSES, build_gateway_class())
        theirs = {"metadata": {"name": "theirs"}, "spec": {"controllerName": "example.com/theirs"}}
        await made.make(CLASSES, {**build_gateway_class(), **theirs})
        program = Program(
            InProcessTransport(server.handle, User("gateway", groups=(MASTERS,))),
            instance="test",
            on_problem=lambda what, error: made.problems.append(f"{what}: {error}"),
        )
        if refused:
            refuse_gateways(program.host, refused)
        else:
            feed = DirectoryFeed(program.host.caches, ("127.0.0.1", 6443))
            LocalGateway(program.host, feed, Surface(listen, dial), program.metrics.registry)
        stop = asyncio.Event()
        running = asyncio.create_task(program.run(stop))
        try:
            yield made
        finally:
            stop.set()
            await running
        assert made.problems == []


def told(tree: Tree, type_: str) -> tuple[str, str]:
    conditions = (tree.get("status") or {}).get("conditions") or ()
    return next(((each["status"], each["reason"]) for each in conditions if each["type"] == type_), ("", ""))


def is_told(type_: str, status: str, reason: str) -> Callable[[Tree], bool]:
    return lambda tree: told(tree, type_) == (status, reason)


def test_classes_and_gateways_that_are_ours_are_told_and_others_left_alone() -> None:
    async def play() -> None:
        async with world() as made:
            await made.until(f"{CLASSES}/heliostat", is_told("Accepted", "True", "Accepted"))
            await made.make_gateway("far", "theirs")
            await made.make_gateway("nowhere", "no-such-class")
            await made.make_gateway("web")
            web = await made.until(f"{GATEWAYS}/web", is_told("Programmed", "True", "Programmed"))
            service = await made.server.request("GET", f"{SERVICES}/web-heliostat")
            assert web["status"]["addresses"] == [{"type": "IPAddress", "value": service["spec"]["clusterIP"]}]
            assert [owner["uid"] for owner in service["metadata"]["ownerReferences"]] == [web["metadata"]["uid"]]
            for name in ("far", "nowhere"):
                other = await made.server.request("GET", f"{GATEWAYS}/{name}")
                assert told(other, "Accepted") == ("Unknown", "Pending")
            assert told(await made.server.request("GET", f"{CLASSES}/theirs"), "Accepted") == ("Unknown", "Pending")

    asyncio.run(play())


def test_the_service_of_a_gateway_is_called_by_its_class_and_follows_it() -> None:
    async def play() -> None:
        async with world() as made:
            await made.make(CLASSES, {**build_gateway_class(), "metadata": {"name": "other"}})
            await made.make_gateway("web", "other")
            await made.until(f"{GATEWAYS}/web", is_told("Programmed", "True", "Programmed"))
            before = await made.server.request("GET", f"{SERVICES}/web-other")
            await made.change(f"{GATEWAYS}/web", lambda tree: tree["spec"].update(gatewayClassName="heliostat"))
            after = await made.until(f"{SERVICES}/web-heliostat", lambda tree: tree["kind"] == "Service")
            assert before["spec"]["clusterIP"] != after["spec"]["clusterIP"]
            address = [{"type": "IPAddress", "value": after["spec"]["clusterIP"]}]
            await made.until(f"{GATEWAYS}/web", lambda tree: tree["status"]["addresses"] == address)
            await made.until(f"{SERVICES}/web-other", lambda tree: tree.get("code") == 404)

    asyncio.run(play())


def test_a_listener_that_moves_takes_its_service_along() -> None:
    async def play() -> None:
        async with world() as made:
            await made.make_gateway("web")
            await made.until(f"{GATEWAYS}/web", is_told("Programmed", "True", "Programmed"))
            await made.change(f"{GATEWAYS}/web", lambda tree: tree["spec"]["listeners"][0].update(port=81))

            def has_moved(tree: Tree) -> bool:
                generations = {each["observedGeneration"] for each in tree["status"]["conditions"]}
                return generations == {2} and told(tree, "Programmed")[0] == "True"

            await made.until(f"{GATEWAYS}/web", has_moved)
            await made.until(
                f"{SERVICES}/web-heliostat", lambda tree: [p["port"] for p in tree["spec"]["ports"]] == [81]
            )

    asyncio.run(play())


def test_what_is_in_the_way_of_an_address_is_told() -> None:
    async def play() -> None:
        async with world() as made:
            spec = {"ports": [{"port": 80}]}
            await made.make(SERVICES, {"metadata": {"name": "taken-heliostat"}, "spec": spec})
            await made.make_gateway("taken")
            await made.until(f"{GATEWAYS}/taken", lambda tree: "belongs to somebody else" in str(tree["status"]))
            await made.make_gateway("odd", **{"heliostat.dev/host-port": "eighty"})
            odd = await made.until(f"{GATEWAYS}/odd", is_told("Programmed", "True", "Programmed"))
            assert "'eighty' is no port" in str(odd["status"])
            await made.make_gateway("open", **{"heliostat.dev/host-port": "0"})
            await made.until(f"{GATEWAYS}/open", lambda tree: "heliostat.dev/host" in str(tree["status"]))

    asyncio.run(play())


def test_a_route_is_told_by_its_parents_as_long_as_they_are_ours() -> None:
    async def play() -> None:
        async with world() as made:
            await made.make_gateway("web")
            await made.make_gateway("far", "theirs")
            rules = [{"backendRefs": [{"name": "one", "port": 80}]}]
            spec = {"parentRefs": [{"name": "web"}], "rules": rules}
            tree = {"apiVersion": API_VERSION, "kind": "HTTPRoute", "metadata": {"name": "r"}, "spec": spec}
            await made.make(ROUTES, tree)
            await made.until(f"{ROUTES}/r", lambda tree: "BackendNotFound" in str(tree.get("status")))
            await made.until(f"{GATEWAYS}/web", lambda tree: "'attachedRoutes': 1" in str(tree["status"]))
            await made.make(SERVICES, {"metadata": {"name": "one"}, "spec": {"ports": [{"port": 80}]}})

            def is_resolved(tree: Tree) -> bool:
                conditions = tree["status"]["parents"][0]["conditions"]
                return {each["type"]: each["status"] for each in conditions} == {
                    "Accepted": "True",
                    "ResolvedRefs": "True",
                }

            await made.until(f"{ROUTES}/r", is_resolved)
            await made.change(f"{ROUTES}/r", lambda tree: tree["spec"].update(parentRefs=[{"name": "far"}]))
            await made.until(f"{ROUTES}/r", lambda tree: tree["status"]["parents"] == [])

    asyncio.run(play())


def test_where_there_is_no_network_to_listen_in_the_class_says_so() -> None:
    async def play() -> None:
        async with world(refused="Pods share the machine's network here") as made:
            await made.until(f"{CLASSES}/heliostat", is_told("Accepted", "False", "Unsupported"))

    asyncio.run(play())
