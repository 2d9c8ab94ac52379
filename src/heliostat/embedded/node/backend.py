"""What the API server asks of a node about its Pods, done with what is there: logs, commands, ports, proxied requests.

Rules: sentences are the kubelet's where it has any; a container is meant by its newest run, and by the one before where
the previous is asked for; connections begin inside the Pod's own network, or beside it.
"""

import asyncio
import contextlib
import socket
import ssl
import time

from heliostat.embedded.http1.heads import NoHttpError
from heliostat.embedded.node.commands import attach_to, run_command
from heliostat.embedded.node.isolating.sandbox import Sandbox
from heliostat.embedded.node.logs.log_files import LogChunks, LogFiles
from heliostat.embedded.node.logs.log_lines import LogWriter, build_wanted
from heliostat.embedded.node.network.pod_network import PodNetwork
from heliostat.embedded.node.probing.http_exchange import build_own_root, exchange
from heliostat.embedded.node.shim.journal import Run
from heliostat.embedded.node.usage import UsageMeter, build_summary
from heliostat.embedded.node.workbench import Workbench
from heliostat.embedded.refusals import RefusedError, bad_request
from heliostat.embedded.server.messages import Answer, GoneError, Request, Response, Stream
from heliostat.embedded.server.nodes.node_backend import (
    SUMMARY,
    Duplex,
    Execution,
    Failed,
    LogOptions,
    Outcome,
    Proxied,
    Terminal,
)
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.runtime.metrics import CONTENT_TYPE, Registry

DIAL_SECONDS = 30.0
_CHUNK = 64 * 1024
_PLAIN = "text/plain"
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_PULLING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


class LocalBackend:
    def __init__(self, bench: Workbench, network: PodNetwork, metrics: Registry) -> None:
        self._bench = bench
        self._metrics = metrics
        self._network = network
        self._usage = UsageMeter(bench)

    async def is_reachable(self) -> bool:
        return True

    async def read_log(self, pod: JsonObject, options: LogOptions) -> Answer:
        try:
            wanted = build_wanted(options, time.time())
        except ValueError:
            raise bad_request(f"sinceTime {options.since_time!r} is no time in the form of RFC 3339") from None
        run = self._choose_run(pod, options)
        uid = pod["metadata"]["uid"]
        files = LogFiles(self._bench.log_path(uid, run.name, int(run.id.rpartition("-")[2])))
        if options.tail_lines is not None:
            files.skip_to_last(options.tail_lines)
        chunks = LogChunks(files, LogWriter(wanted), lambda: self._is_over(uid, run), follows=options.follow)
        return Stream(chunks, content_type=_PLAIN)

    async def execute(self, pod: JsonObject, execution: Execution, terminal: Terminal) -> Outcome:
        found = self._find_running(pod, execution.container)
        if isinstance(found, Failed):
            return found
        return await run_command(*found, execution, terminal)

    async def attach(self, pod: JsonObject, execution: Execution, terminal: Terminal) -> Outcome:
        found = self._find_running(pod, execution.container)
        if isinstance(found, Failed):
            return found
        return await attach_to(*found, execution, terminal)

    async def forward(self, pod: JsonObject, port: int, stream: Duplex) -> Failed | None:
        sandbox = self._bench.sandbox(pod["metadata"]["uid"])
        if sandbox is None:
            return Failed("the Pod is not running")
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                connection = await self._network.dial_inside(sandbox, port)
        except (OSError, TimeoutError) as error:
            return Failed(f"failed to connect to localhost:{port} inside the Pod: {_reason(error)}")
        with connection:
            await _relay(connection, stream)
        return None

    async def proxy(self, proxied: Proxied, request: Request) -> Answer:
        if not proxied.path and not request.path.endswith("/"):
            return Response(301, b"", "", headers=(("Location", build_own_root(request)),))
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                reader, writer = await self._dial(proxied)
        except (OSError, TimeoutError) as error:
            raise _unreachable(f"dial tcp {proxied.address}:{proxied.port}: {_reason(error)}") from None
        try:
            return await exchange(reader, writer, proxied, request)
        except BaseException as error:  # the client gone, too: the Pod must not keep a connection that nobody reads
            writer.transport.abort()
            if isinstance(error, (OSError, NoHttpError)):
                raise _unreachable(str(error)) from None
            raise

    async def proxy_node(self, node: JsonObject, path: str, request: Request) -> Answer:  # noqa: ARG002
        """Of what a kubelet serves, only whether it is well, what its Pods use and what it counts."""
        if path == "healthz":
            return Response(200, b"ok", _PLAIN)
        if path == SUMMARY:
            return Response(200, encode_json(build_summary(await self._usage.measure())))
        if path == "metrics":
            return Response(200, self._metrics.render().encode(), CONTENT_TYPE)
        return Response(404, b"404 page not found\n", _PLAIN)

    def _runs(self, pod: JsonObject, container: str) -> list[Run]:
        return [run for run in self._bench.runs(pod["metadata"]["uid"]) if run.name == container]

    def _is_over(self, uid: str, run: Run) -> bool:
        return any(known.id == run.id and known.is_over for known in self._bench.runs(uid)) or not self._bench.has_been(
            uid
        )

    def _choose_run(self, pod: JsonObject, options: LogOptions) -> Run:
        """Raises RefusedError."""
        runs, waiting = self._runs(pod, options.container), _waiting_reason(pod, options.container)
        name = f'container "{options.container}" in pod "{pod["metadata"]["name"]}"'
        if options.previous:
            ended = runs if runs and runs[-1].is_over and waiting is not None else runs[:-1]
            if not ended:
                raise bad_request(f"previous terminated {name} not found")
            return ended[-1]
        if not runs:
            reason = _PULLING.get(waiting or "", waiting or "ContainerCreating")
            raise bad_request(f"{name} is waiting to start: {reason}")
        return runs[-1]

    def _find_running(self, pod: JsonObject, container: str) -> tuple[Sandbox, str] | Failed:
        sandbox = self._bench.sandbox(pod["metadata"]["uid"])
        runs = [run for run in self._runs(pod, container) if not run.is_over]
        if sandbox is None or not runs:
            return Failed(f'container not found ("{container}")')
        return sandbox, runs[-1].id

    async def _dial(self, proxied: Proxied) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Nobody checks the certificates of Pods: their names mean nothing to anybody."""
        connection = await self._network.dial(proxied.address, proxied.port)
        tls = None
        if proxied.scheme == "https":
            tls = ssl.create_default_context()
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        try:
            return await asyncio.open_connection(sock=connection, ssl=tls, server_hostname="" if tls else None)
        except BaseException:  # cancelled or refused: nobody else knows this socket
            connection.close()
            raise


def _waiting_reason(pod: JsonObject, container: str) -> str | None:
    status = pod.get("status") or {}
    for part in _STATUSES:
        for each in status.get(part) or ():
            if each["name"] == container:
                waiting = (each.get("state") or {}).get("waiting")
                return None if waiting is None else str(waiting.get("reason", ""))
    return None


async def _relay(connection: socket.socket, stream: Duplex) -> None:
    """Until the Pod has ended it; the client's end is passed on."""
    loop = asyncio.get_running_loop()
    sending = asyncio.ensure_future(_send(connection, stream))
    try:
        while data := await loop.sock_recv(connection, _CHUNK):
            await stream.write(data)
    except GoneError:
        raise
    except OSError:
        return  # reset by the Pod: there is nothing more to pass on
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _send(connection: socket.socket, stream: Duplex) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):
        while data := await stream.read():
            await loop.sock_sendall(connection, data)
        connection.shutdown(socket.SHUT_WR)


def _unreachable(why: str) -> RefusedError:
    return RefusedError(503, "ServiceUnavailable", f"error trying to reach service: {why}")


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "i/o timeout"
    if isinstance(error, ConnectionRefusedError):
        return "connect: connection refused"
    return str(getattr(error, "strerror", None) or error).lower()
