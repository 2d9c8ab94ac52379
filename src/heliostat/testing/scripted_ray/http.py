"""The scripted Ray over HTTP on loopback: all clusters on one port, told apart by path or by the Host header.

For benchmarks and tests with real processes. ``/NAMESPACE/NAME/REST`` is what a client with a gateway asks for; a Host
of the form ``NAME.NAMESPACE.svc…`` is what a client asks for that was pointed here by a name.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from aiohttp import WSCloseCode, web

from heliostat.ray.answers import ENDED
from heliostat.testing.scripted_ray.routes import answer, status_of
from heliostat.testing.scripted_ray.state import ScriptedRay
from heliostat.testing.scripted_ray.transport import locate, locate_host, respond

ACCEPTED = "/-/accepted"  # the log of submissions, for who has started it as a program of its own
ASKED = "/-/asked"  # how many requests dashboards and proxies were sent
_TAIL = "/logs/tail"
_TAIL_SECONDS = 0.05
_LARGEST = 256 * 1024 * 1024


@asynccontextmanager
async def serve_ray(ray: ScriptedRay, port: int = 0) -> AsyncIterator[int]:
    """The port that it listens on."""
    application = web.Application(client_max_size=_LARGEST)

    async def handle(request: web.Request) -> web.StreamResponse:
        return await _handle(ray, request)

    application.router.add_route("*", "/{rest:.*}", handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def _handle(ray: ScriptedRay, request: web.Request) -> web.StreamResponse:
    if request.path == ACCEPTED:
        return web.Response(body=msgspec.json.encode(ray.accepted), content_type="application/json")
    if request.path == ASKED:
        return web.Response(text=str(sum(len(cluster.requests) for cluster in ray.clusters.values())))
    by_host = locate_host(request.host)
    name, path = (by_host, request.path) if "/" in by_host else locate(request.path)
    if path.endswith(_TAIL):
        return await _tail(ray, name, path.removesuffix(_TAIL), request)
    reply = await respond(ray, ray.cluster(name), request.method, path, await request.read())
    is_json = reply.body[:1] in (b"{", b"[")
    return web.Response(
        status=reply.status, body=reply.body, content_type="application/json" if is_json else "text/plain"
    )


async def _tail(ray: ScriptedRay, name: str, path: str, request: web.Request) -> web.StreamResponse:
    """What the log gains, until the job is over."""
    cluster, id_ = ray.cluster(name), path.rpartition("/")[2]
    if id_ not in cluster.jobs:
        return web.Response(status=404, text=f"Job {id_} does not exist")
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    told = 0
    while (job := cluster.jobs.get(id_)) is not None:
        text = answer(ray, cluster, "GET", f"{path}/logs", b"", ray.now()).body
        log = _log_of(text)
        if len(log) > told:
            await socket.send_str(log[told:])
            told = len(log)
        if status_of(ray.script_of(cluster), job, ray.now()) in ENDED:
            break
        await asyncio.sleep(_TAIL_SECONDS)
    await socket.close(code=WSCloseCode.OK)
    return socket


def _log_of(body: bytes) -> str:
    return str(msgspec.json.decode(body)["logs"])
