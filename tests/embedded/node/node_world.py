"""A whole small Kubernetes with one real node: API server, controllers, and Pods as processes of this machine."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from heliostat.embedded.controllers.nodes.machines import DEFAULT_CAPACITY, build_machines
from heliostat.embedded.history.recorder import HistoryOptions
from heliostat.embedded.node.ending import end_all_pods
from heliostat.embedded.node.imaging.images import Image
from heliostat.embedded.node.node_facts import NodeFacts
from heliostat.embedded.node.program import LocalNode, LocalNodeOptions
from heliostat.embedded.serving import ServerOptions
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection
from heliostat.testing import ApiServer

SECONDS = 30.0
IMAGES = (Image(match="busybox*", command=("/bin/sh",)),)

Tree = dict[str, Any]
T = TypeVar("T")


class NodeWorld:
    def __init__(
        self,
        server: ApiServer,
        directory: Path,
        nodes: int,
        images: tuple[Image, ...],
        plain_because: str,
        outbound_ports: tuple[int, ...],
    ) -> None:
        self._nodes = nodes
        self._images = images
        self._plain_because = plain_because
        self._outbound_ports = outbound_ports
        self.server = server
        self.directory = directory
        self.problems: list[tuple[str, Exception]] = []
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._transport: HttpsTransport | None = None

    # the node

    async def start_node(self) -> None:
        machines = build_machines(self._nodes)
        facts = NodeFacts(
            host_address=machines[0].address,
            dns_address="10.96.0.10",
            allocatable=DEFAULT_CAPACITY,
            images=self._images,
            plain_because=self._plain_because,
            outbound_ports=self._outbound_ports,
        )
        port = int(self.server.address.rpartition(":")[2])
        options = LocalNodeOptions(
            directory=self.directory, machines=machines, facts=facts, api_server=("127.0.0.1", port)
        )
        self._transport = HttpsTransport(find_connection({}, self.server.kubeconfig, ""), "node")
        node = LocalNode(self._transport, options, on_problem=lambda what, error: self.problems.append((what, error)))
        self._stop.clear()
        self._running = asyncio.create_task(node.run(self._stop), name="node")

    async def stop_node(self) -> None:
        """As when its process ends: the Pods go on."""
        self._stop.set()
        if self._running is not None:
            await self._running
        if self._transport is not None:
            await self._transport.close()

    def pod_directories(self) -> list[str]:
        return sorted(place.name for place in (self.directory / "pods").iterdir())

    # the API

    async def create(self, kind: str, tree: Tree) -> Tree:
        answer: Tree = await self.server.request("POST", f"/api/v1/namespaces/default/{kind}", tree)
        assert answer.get("kind") != "Status", answer
        return answer

    async def run_pod(self, name: str, *containers: Tree, **spec: Any) -> Tree:
        body = {"containers": list(containers), "terminationGracePeriodSeconds": 2, **spec}
        return await self.create("pods", {"metadata": {"name": name}, "spec": body})

    async def pod(self, name: str) -> Tree | None:
        answer: Tree = await self.server.request("GET", f"/api/v1/namespaces/default/pods/{name}")
        return None if answer.get("kind") == "Status" else answer

    async def node_condition(self, type_: str) -> Tree | None:
        """Of the first node, once it is registered."""

        async def conditions() -> list[Tree]:
            answer: Tree = await self.server.request("GET", "/api/v1/nodes/node-0")
            found: list[Tree] = answer.get("status", {}).get("conditions", []) if answer["kind"] == "Node" else []
            return found

        found = await self._until(conditions, bool)
        return next((condition for condition in found if condition["type"] == type_), None)

    async def delete_pod(self, name: str, **options: Any) -> None:
        await self.server.request("DELETE", f"/api/v1/namespaces/default/pods/{name}", options or None)

    async def until(self, name: str, test: Callable[[Tree], Any]) -> Tree:
        """The Pod, once ``test`` holds for it."""
        found = await self._until(lambda: self.pod(name), lambda pod: pod is not None and bool(test(pod)))
        assert found is not None
        return found

    async def until_gone(self, name: str) -> None:
        await self._until(lambda: self.pod(name), lambda pod: pod is None)

    async def until_no_directory(self, uid: str) -> None:
        async def directories() -> list[str]:
            return self.pod_directories()

        await self._until(directories, lambda found: uid not in found)

    async def until_event(self, name: str, reason: str, part: str = "") -> Tree:
        """An event about the Pod, with this in its note."""

        async def events() -> list[Tree]:
            answer = await self.server.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
            found: list[Tree] = answer["items"]
            return [event for event in found if event["regarding"]["name"] == name and event["reason"] == reason]

        found = await self._until(events, lambda found: any(part in event["note"] for event in found))
        return next(event for event in found if part in event["note"])

    async def until_true(self, test: Callable[[], bool]) -> None:
        async def look() -> bool:
            return test()

        await self._until(look, bool)

    def log(self, pod: Tree, container: str = "c", attempt: int = 0) -> list[str]:
        path = self.directory / "pods" / pod["metadata"]["uid"] / "logs" / container / f"{attempt}.log"
        return [line.split(" ", 3)[3] for line in path.read_text().splitlines()] if path.exists() else []

    async def until_log(self, pod: Tree, text: str, container: str = "c", attempt: int = 0) -> list[str]:
        async def log() -> list[str]:
            return self.log(pod, container, attempt)

        return await self._until(log, lambda lines: text in lines)

    async def _until(self, look: Callable[[], Coroutine[Any, Any, T]], test: Callable[[T], bool]) -> T:
        found = await look()
        try:
            async with asyncio.timeout(SECONDS):
                while not test(found):
                    await asyncio.sleep(0.02)
                    found = await look()
        except TimeoutError:
            shown = msgspec.json.format(msgspec.json.encode(found)).decode()
            raise AssertionError(f"it did not become so; last seen: {shown}; problems: {self.problems}") from None
        return found


@asynccontextmanager
async def node_world(
    directory: Path,
    nodes: int = 1,
    images: tuple[Image, ...] = IMAGES,
    history: HistoryOptions | None = None,
    plain_because: str = "",
    outbound_ports: tuple[int, ...] = (),
) -> AsyncIterator[NodeWorld]:
    """``plain_because`` says why Pods have no namespaces; empty: they have."""
    async with ApiServer(ServerOptions(history=history), controllers=True) as server:
        world = NodeWorld(server, directory, nodes, images, plain_because, outbound_ports)
        await world.start_node()
        try:
            yield world
        finally:
            await world.stop_node()
            await end_all_pods(directory)


def shell(script: str, name: str = "c", **fields: Any) -> Tree:
    """A container that runs a script."""
    return {"name": name, "image": "busybox", "command": ["/bin/sh", "-c", script], **fields}


def state(pod: Tree, container: str = "c") -> Tree:
    """The state of a container, empty before it has one."""
    statuses = [*pod["status"].get("initContainerStatuses", ()), *pod["status"].get("containerStatuses", ())]
    return next((dict(status["state"]) for status in statuses if status["name"] == container), {})


def status_of(pod: Tree, container: str = "c") -> Tree:
    statuses = [*pod["status"].get("initContainerStatuses", ()), *pod["status"].get("containerStatuses", ())]
    return next((dict(status) for status in statuses if status["name"] == container), {})


def is_phase(*phases: str) -> Callable[[Tree], bool]:
    return lambda pod: pod["status"].get("phase") in phases


def is_ready(pod: Tree) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def processes_of(directory: Path) -> list[int]:
    """Those whose command line names something in there."""
    named = str(directory).encode()
    return [pid for pid, line in _command_lines() if named in line and pid != os.getpid()]


def processes_named(words: str) -> list[int]:
    """Those of this machine whose command line is made of these words."""
    line = words.encode().replace(b" ", b"\0")
    return [pid for pid, found in _command_lines() if found.rstrip(b"\0") == line]


def _command_lines() -> Iterator[tuple[int, bytes]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):  # it has just ended
                yield int(entry.name), (entry / "cmdline").read_bytes()
