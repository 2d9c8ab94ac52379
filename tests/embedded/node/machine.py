"""A machine as users have it: the API server in a process of its own, a real node beside it, and kubectl."""

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, TypeVar

from embedded.node.node_world import IMAGES, processes_of
from embedded.processes.running import PATIENCE, ServerProcess, wait_until
from heliostat.embedded.controllers.nodes.machines import build_machines
from heliostat.embedded.node.ending import end_all_pods
from heliostat.embedded.node.node_facts import NodeFacts
from heliostat.embedded.node.program import LocalNode, LocalNodeOptions
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection

T = TypeVar("T")
Tree = dict[str, Any]


class Node:
    """A local node on a loop of its own; its Pods go on when it stops."""

    def __init__(self, server: ServerProcess, directory: Path, socket: Path) -> None:
        self.problems: list[str] = []
        self._server, self._directory, self._socket = server, directory, socket
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="node", daemon=True)
        self._thread.start()
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self.do(self._begin())

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def stop(self) -> None:
        self.do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _begin(self) -> None:
        machine = build_machines(1)[0]
        facts = NodeFacts(
            host_address=machine.address, dns_address="10.96.0.10", allocatable=machine.capacity, images=IMAGES
        )
        options = LocalNodeOptions(
            directory=self._directory,
            machines=(machine,),
            facts=facts,
            api_server=("127.0.0.1", int(self._server.address.rpartition(":")[2])),
            socket=self._socket,
        )
        self._transport = HttpsTransport(find_connection({}, self._server.kubeconfig, ""), "node")
        node = LocalNode(
            self._transport, options, on_problem=lambda what, error: self.problems.append(f"{what}: {error!r}")
        )
        self._running = asyncio.create_task(node.run(self._stop), name="node")

    async def _end(self) -> None:
        self._stop.set()
        if self._running is not None:
            await self._running
        await self._transport.close()


class LiveMachine:
    def __init__(self, server: ServerProcess, directory: Path, socket: Path) -> None:
        self.server = server
        self.directory = directory
        self._socket = socket
        self.node: Node | None = None

    def start_node(self) -> None:
        self.node = Node(self.server, self.directory, self._socket)
        wait_until(self._socket.exists, "the node does not listen")

    def stop_node(self) -> None:
        assert self.node is not None
        node, self.node = self.node, None
        node.stop()
        bugs = [problem for problem in node.problems if problem.startswith("a request of the API server")]
        assert not bugs, bugs

    def command(self, *arguments: str) -> list[str]:
        return ["kubectl", f"--kubeconfig={self.server.kubeconfig}", *arguments]

    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.directory)}

    def kubectl(self, *arguments: str, data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            self.command(*arguments),
            input=data,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env=self.environment(),
        )

    def output(self, *arguments: str, data: bytes = b"") -> str:
        """Of a command that has to succeed."""
        done = self.kubectl(*arguments, data=data)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    @contextmanager
    def begun(
        self, *arguments: str, stdin: int = subprocess.DEVNULL, stdout: int = PIPE, stderr: int = PIPE
    ) -> Iterator[Popen[bytes]]:
        """A kubectl that goes on beside the test, and ends with the block."""
        command, environment = self.command(*arguments), self.environment()
        with Popen(command, env=environment, stdin=stdin, stdout=stdout, stderr=stderr) as process:
            try:
                yield process
            finally:
                process.kill()

    def run_pod(self, name: str, script: str, **fields: Any) -> None:
        """Running or over, when this returns; ``pod`` holds fields of its spec."""
        spec = fields.pop("pod", {})
        labels = {"app": name}
        container = {"name": "c", "image": "busybox", "command": ["/bin/sh", "-c", script], **fields}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
        }
        self.output("create", "-f", "-", data=json.dumps(body).encode())
        self.wait_pod(name, lambda pod: pod["status"].get("phase") not in (None, "Pending"))

    def wait_pod(self, name: str, test: Any) -> Tree:
        found: Tree = {}

        def holds() -> bool:
            found.clear()
            found.update(json.loads(self.output("get", "pod", name, "-o", "json")))
            return bool(test(found))

        wait_until(holds, lambda: f"{name} did not become so: {json.dumps(found.get('status'))}")
        return found


@contextmanager
def live_machine(folder: Path) -> Iterator[LiveMachine]:
    directory, socket = folder / "state", folder / "state" / "node.sock"
    directory.mkdir(mode=0o700)
    with ServerProcess(folder, "--memory", "--controllers", "--node-socket", str(socket)) as server:
        machine = LiveMachine(server, directory, socket)
        try:
            machine.start_node()
            yield machine
        finally:
            try:
                if machine.node is not None:
                    machine.stop_node()
            finally:
                asyncio.run(end_all_pods(directory))
        assert "Traceback" not in server.told(), server.told()
    assert processes_of(directory) == []
