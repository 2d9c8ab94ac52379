"""A server with a local node and one running Pod, beside the test."""

import asyncio
import os
import subprocess
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from embedded.node_connections.local_node import LocalNode
from embedded.processes.running import PATIENCE, wait_until
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.server.front.http import Handle
from heliostat.embedded.server.limits import Limits
from heliostat.embedded.server.messages import Answer, Request
from heliostat.embedded.serving import EmbeddedServer, ServerOptions
from heliostat.kube.jsontree import encode_json

T = TypeVar("T")
RBAC = "rbac.authorization.k8s.io"
PODS = "/api/v1/namespaces/default/pods"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "a"}]},
}


class NodeServer:
    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop, options: ServerOptions) -> None:
        self.node = LocalNode()
        self.bugs: list[BaseException] = []
        self.kubeconfig = folder / "kubeconfig"
        self.spoken: list[str] = []  # the protocols that were asked for
        self.server = EmbeddedServer(options, on_bug=self.bugs.append, around=self._noting, node_backend=self.node)
        self._loop = loop

    def _noting(self, handle: Handle) -> Handle:
        async def note(request: Request) -> Answer:
            if "upgrade" in request.headers:
                offers = request.headers.get("sec-websocket-protocol") or request.headers.get(
                    "x-stream-protocol-version", ""
                )
                self.spoken.append(f"{request.headers['upgrade']} {offers.split(',')[0]}")
            return await handle(request)

        return note

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def start(self) -> None:
        await self.server.__aenter__()
        self.kubeconfig.write_text(self.server.build_kubeconfig().reveal())
        await self._ask("POST", PODS, POD)
        running = {"status": {"phase": "Running", "podIP": "10.0.0.7"}}
        await self._ask("PATCH", f"{PODS}/p/status", running)

    def stop_now(self) -> None:
        self.do(self.server.__aexit__(None, None, None))

    def grant(self, user: str, verb: str, resource: str) -> None:
        """In the default namespace."""
        rules = [{"apiGroups": [""], "resources": [resource], "verbs": [verb]}]
        role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": user}, "rules": rules}
        subjects = [{"kind": "User", "name": user, "apiGroup": RBAC}]
        reference = {"kind": "Role", "name": user, "apiGroup": RBAC}
        binding = {**role, "kind": "RoleBinding", "subjects": subjects, "roleRef": reference}
        del binding["rules"]
        for plural, body in (("roles", role), ("rolebindings", binding)):
            self.do(self._ask("POST", f"/apis/{RBAC}/v1/namespaces/default/{plural}", body))

    async def _ask(self, method: str, path: str, body: Any) -> Any:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        user = User("test", groups=(MASTERS,))
        headers = {"content-type": kind}
        answer = await self.server.core.handle(
            Request(method=method, path=path, user=user, headers=headers, body=encode_json(body))
        )
        assert answer.status < 300, answer
        return answer

    def kubectl(
        self, *arguments: str, data: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        command, env = self.command(*arguments), self.environment(environment)
        return subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE, check=False, env=env)

    def command(self, *arguments: str) -> list[str]:
        return ["kubectl", f"--kubeconfig={self.kubeconfig}", *arguments]

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.kubeconfig.parent), **(more or {})}

    def wait_idle(self) -> None:
        wait_until(lambda: self.node.running == 0, "a command goes on without its client")


@contextmanager
def node_server(folder: Path, streams_per_user: int = 100) -> Iterator[NodeServer]:
    """Its bugs are the test's failure, unless the test takes them out."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="node-server", daemon=True)
    thread.start()
    served = NodeServer(folder, loop, ServerOptions(limits=Limits(streams_per_user=streams_per_user)))
    try:
        served.do(served.start())
        try:
            yield served
        finally:
            served.stop_now()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    if served.bugs:
        raise served.bugs[0]
