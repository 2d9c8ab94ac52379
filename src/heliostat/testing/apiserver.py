"""An API server for a test: in memory, over HTTPS on loopback, with a kubeconfig, gone when the test ends.

    async with ApiServer() as server:
        ...  # any client, with server.kubeconfig or server.address

With ``controllers`` it is a whole Kubernetes: garbage collection, namespaces, Jobs, Deployments, StatefulSets,
endpoints, volumes and the scheduler work as they do in a cluster; with ``nodes`` Pods also run, on nodes without
processes.

For clients that are not asynchronous, ``api_server_in_thread`` runs the same server beside the test.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import msgspec

from heliostat.embedded.doors.apiserver import ControllerOptions, EmbeddedServer, ServerOptions
from heliostat.embedded.doors.inside import MASTERS, Answer, Request, Response, User
from heliostat.embedded.doors.simulated_nodes import Simulation, build_machines
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.testing.faults import Faults

_TESTER = User("heliostat-test", groups=(MASTERS,))


class ApiServer:
    """``bugs`` collects what went wrong inside the server; leaving the context raises the first one.

    Faults are met by clients, never by the controllers.
    """

    def __init__(self, options: ServerOptions | None = None, *, controllers: bool = False, nodes: int = 0) -> None:
        """``nodes`` simulated ones, which need the controllers and bring them along."""
        self.faults = Faults()
        self.bugs: list[BaseException] = []
        self._options = options or ServerOptions()
        self._simulation = Simulation(build_machines(nodes)) if nodes else None
        self._has_controllers = controllers or nodes > 0

    async def __aenter__(self) -> Self:
        self._folder = TemporaryDirectory(prefix="heliostat-test-")
        self._server = EmbeddedServer(self._complete_options(), on_bug=self.bugs.append, around=self.faults.around)
        try:
            await self._server.__aenter__()
        except BaseException:
            self._folder.cleanup()
            raise
        self.kubeconfig = Path(self._folder.name) / "kubeconfig"
        self.kubeconfig.write_text(self._server.build_kubeconfig().reveal())
        return self

    def _complete_options(self) -> ServerOptions:
        if not self._has_controllers:
            return self._options
        volumes = Path(self._folder.name) / "volumes"
        controllers = ControllerOptions(simulation=self._simulation, volumes=volumes)
        return msgspec.structs.replace(self._options, controllers=controllers)

    async def __aexit__(self, *exception: object) -> None:
        await self._server.__aexit__(*exception)
        self._folder.cleanup()
        if self.bugs and exception[0] is None:
            raise self.bugs[0]

    @property
    def address(self) -> str:
        return self._server.address

    def build_kubeconfig(self, user: str, groups: tuple[str, ...] = ()) -> str:
        """A kubeconfig for another user than the administrator."""
        return self._server.build_kubeconfig(user, groups).reveal()

    @property
    def revision(self) -> int:
        """The newest resourceVersion."""
        return self._server.store.revision

    async def handle(self, request: Request) -> Answer:
        """In process, past the network and the faults."""
        return await self._server.core.handle(request)

    async def request(self, method: str, path: str, body: JsonObject | None = None, **query: str) -> Any:
        """In process: the decoded answer, whatever its status."""
        request = Request(
            method=method,
            path=path,
            user=_TESTER,
            query={key: [value] for key, value in query.items()},
            body=b"" if body is None else encode_json(body),
        )
        answer = await self.handle(request)
        if not isinstance(answer, Response):
            raise TypeError("a watch is a stream: use handle")
        return msgspec.json.decode(answer.body)

    def compact(self) -> None:
        """Forget all history: a watch that resumes from before now gets 410."""
        self._server.store.compact(self._server.store.revision)


@contextmanager
def api_server_in_thread(
    options: ServerOptions | None = None, *, controllers: bool = False, nodes: int = 0
) -> Iterator[ApiServer]:
    """The server on an event loop of its own, for clients that block."""
    server = ApiServer(options, controllers=controllers, nodes=nodes)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="heliostat-apiserver", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
