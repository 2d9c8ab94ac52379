"""The gateway of a real node: reached from the machine and from Pods, while weights shift and Pods leave."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedded.gateway.plane import Client
from embedded.node.node_world import NodeWorld, is_ready, node_world, processes_of
from heliostat.embedded.gateway.definitions import API_VERSION, GATEWAY, HTTP_ROUTE, build_gateway_class, gateway_crds

PYTHON = str(Path(sys.executable).resolve())
SERVER = (Path(__file__).parent / "pod_server.py").read_text()
GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
PER_SECOND = 50
GATEWAYS, ROUTES = GATEWAY.collection_path("default"), HTTP_ROUTE.collection_path("default")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root"),
]

Tree = dict[str, Any]


async def install(world: NodeWorld) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for tree in gateway_crds():
        await world.server.request("POST", definitions, tree)
    await world.server.request("POST", "/apis/gateway.networking.k8s.io/v1/gatewayclasses", build_gateway_class())


async def run_server(world: NodeWorld, name: str) -> None:
    container: Tree = {"name": "c", "image": "busybox", "command": [PYTHON, "-c", SERVER, name]}
    container |= {"readinessProbe": {"httpGet": {"path": "/", "port": 8000}, "periodSeconds": 1}}
    container |= {"lifecycle": {"preStop": {"sleep": {"seconds": 3}}}}  # longer than it streams
    await world.create(
        "pods",
        {
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 5},
        },
    )
    spec = {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8000}]}
    await world.create("services", {"metadata": {"name": name}, "spec": spec})


def route(**weights: int) -> Tree:
    refs = [{"name": name, "port": 80, "weight": weight} for name, weight in weights.items()]
    spec = {"parentRefs": [{"name": "web"}], "rules": [{"backendRefs": refs}]}
    return {"apiVersion": API_VERSION, "kind": "HTTPRoute", "metadata": {"name": "web"}, "spec": spec}


async def weigh(world: NodeWorld, **weights: int) -> None:
    known = await world.server.request("GET", f"{ROUTES}/web")
    await world.server.request("PUT", f"{ROUTES}/web", {**known, "spec": route(**weights)["spec"]})


def told(conditions: list[Tree]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in conditions}


async def until(world: NodeWorld, path: str, test: Callable[[Tree], bool]) -> Tree:
    return await world._until(lambda: world.server.request("GET", path), test)


def is_programmed(gateway: Tree) -> bool:
    return told(gateway["status"]["conditions"]) == {"Accepted": "True", "Programmed": "True"}


def is_routed(found: Tree) -> bool:
    parents = found.get("status", {}).get("parents", [])
    generations = {each["observedGeneration"] for parent in parents for each in parent["conditions"]}
    fine = {"Accepted": "True", "ResolvedRefs": "True"}
    return generations == {found["metadata"]["generation"]} and told(parents[0]["conditions"]) == fine


class Machine:
    """Who asks from the machine itself."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def ask(self, request: str = GET) -> str:
        client = Client(*await asyncio.open_connection("127.0.0.1", self.port))
        try:
            status, body = await client.ask(request)
            return body.decode() if status == 200 else f"{status} {body.decode()}"
        finally:
            client.writer.close()

    async def keep_asking(self, stop: asyncio.Event) -> list[str]:
        """An open loop: each request leaves at its time, whatever became of those before; a tenth of them stream."""
        loop = asyncio.get_running_loop()
        asked: list[asyncio.Task[str]] = []
        began = loop.time()
        while not stop.is_set():
            text = GET if len(asked) % 10 else GET.replace("/ ", "/stream ", 1)
            asked.append(asyncio.create_task(self._ask_safely(text)))
            await asyncio.sleep(max(0.0, began + len(asked) / PER_SECOND - loop.time()))
        return await asyncio.gather(*asked)

    async def _ask_safely(self, text: str) -> str:
        try:
            return await self.ask(text)
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            return f"failed: {error!r}"


async def serve(world: NodeWorld) -> Machine:
    await install(world)
    for name in ("old", "new"):
        await run_server(world, name)
    for name in ("old", "new"):
        await world.until(name, is_ready)
    spec = {"gatewayClassName": "heliostat", "listeners": [{"name": "http", "protocol": "HTTP", "port": 80}]}
    metadata = {"name": "web", "annotations": {"heliostat.dev/host-port": "0"}}
    await world.server.request(
        "POST", GATEWAYS, {"apiVersion": API_VERSION, "kind": "Gateway", "metadata": metadata, "spec": spec}
    )
    await world.server.request("POST", ROUTES, route(old=80, new=20))
    found = await until(world, f"{GATEWAYS}/web", is_programmed)
    await until(world, f"{ROUTES}/web", is_routed)
    (address,) = [each["value"] for each in found["status"]["addresses"] if each["type"] == "heliostat.dev/host"]
    return Machine(int(address.rpartition(":")[2]))


async def see_weights(machine: Machine) -> None:
    answers = Counter([await machine.ask() for _ in range(100)])
    assert abs(answers["old"] - 80) <= 1
    assert answers["old"] + answers["new"] == 100


async def see_streams(machine: Machine) -> None:
    client = Client(*await asyncio.open_connection("127.0.0.1", machine.port))
    client.send(GET.replace("/ ", "/stream ", 1))
    assert (await client.read_head())[0] == 200
    loop, times = asyncio.get_running_loop(), []
    while await client.read_chunk():
        times.append(loop.time())
    assert times[-1] - times[0] > 0.2  # not all at its end
    client.send("GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
    assert (await client.read_head())[0] == 101
    client.send(b"hello")
    assert await client.reader.readexactly(5) == b"HELLO"
    client.writer.close()


async def see_from_a_pod(world: NodeWorld) -> None:
    script = "import urllib.request as u; print(u.urlopen('http://web-heliostat.default.svc.cluster.local/').read())"
    container = {"name": "c", "image": "busybox", "command": [PYTHON, "-c", script]}
    pod = await world.run_pod("client", container, restartPolicy="Never")
    await world.until("client", lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"))
    assert world.log(pod) in (["b'old'"], ["b'new'"])


async def see_a_shift(world: NodeWorld, machine: Machine) -> None:
    stop = asyncio.Event()
    asking = asyncio.create_task(machine.keep_asking(stop))
    for share in (50, 80, 100):
        await weigh(world, old=100 - share, new=share)
        await until(world, f"{ROUTES}/web", is_routed)
    await world.delete_pod("old")
    await world.until_gone("old")
    after = Counter([await machine.ask() for _ in range(20)])
    stop.set()
    answers = Counter(await asking)
    assert after == {"new": 20}
    assert set(answers) <= {"old", "new", "01234"}, answers
    assert answers.total() > PER_SECOND


async def see_its_end(world: NodeWorld, machine: Machine) -> None:
    """The Service goes with the Gateway, by the garbage collector, and nobody listens any more."""
    await world.server.request("DELETE", f"{GATEWAYS}/web")
    path = "/api/v1/namespaces/default/services/web-heliostat"
    await until(world, path, lambda found: found["kind"] == "Status")

    async def refuses() -> bool:
        try:
            await machine.ask()
        except (OSError, asyncio.IncompleteReadError):
            return True
        return False

    await world._until(refuses, bool)


def test_a_gateway_in_front_of_pods(tmp_path: Path) -> None:
    async def play() -> NodeWorld:
        async with node_world(tmp_path) as world:
            machine = await serve(world)
            await see_weights(machine)
            await see_streams(machine)
            await see_from_a_pod(world)
            await see_a_shift(world, machine)
            await see_its_end(world, machine)
        return world

    world = asyncio.run(play())
    assert processes_of(tmp_path) == []
    assert world.problems == []
