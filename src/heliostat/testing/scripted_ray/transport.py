"""The scripted Ray in process: a ``Transport``, for unit tests and behind the service proxy of a simulated world.

It is asked as the operator asks: through the API server's proxy, by address, or through a gateway; ``locate`` knows
the paths. Faults happen here: a hanging dashboard takes the caller's whole deadline, in virtual time too.
"""

import asyncio

from heliostat.runtime.errors import AmbiguousError
from heliostat.runtime.transport import Call, Chunks, Reply
from heliostat.testing.scripted_ray.faults import Answer, Forget, Hang, SlowBody, Stale
from heliostat.testing.scripted_ray.routes import answer
from heliostat.testing.scripted_ray.state import ScriptedCluster, ScriptedRay


def locate(path: str) -> tuple[str, str]:
    """The cluster (namespace/name) that a path is for, and the path at its dashboard.

    ``/api/v1/namespaces/NS/services/NAME:PORT/proxy/REST``, ``//NAME.NS.svc…/REST`` and ``/NS/NAME/REST``.
    """
    parts = path.split("/")
    if parts[1:4] == ["api", "v1", "namespaces"] and "proxy" in parts[7:8]:
        return f"{parts[4]}/{parts[6].partition(':')[0]}", "/" + "/".join(parts[8:])
    if path.startswith("//"):
        return locate_host(parts[2]), "/" + "/".join(parts[3:])
    return "/".join(parts[1:3]), "/" + "/".join(parts[3:])


def locate_host(host: str) -> str:
    """The cluster that an address is of: ``NAME.NS.svc…`` as namespace/name, any other as it is."""
    name = host.partition(":")[0]
    labels = name.split(".")
    return f"{labels[1]}/{labels[0]}" if len(labels) > 2 and labels[2] == "svc" else name


class RayTransport:
    def __init__(self, ray: ScriptedRay) -> None:
        self._ray = ray

    async def send(self, call: Call, seconds: float) -> Reply:
        name, path = locate(call.path)
        try:
            async with asyncio.timeout(seconds):
                return await respond(self._ray, self._ray.cluster(name), call.method, path, call.body)
        except TimeoutError:
            raise AmbiguousError(f"{call}: no answer within {seconds:g} s") from None

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self.send(call, seconds)

    async def close(self) -> None:
        """Nothing is held."""


async def respond(ray: ScriptedRay, cluster: ScriptedCluster, method: str, path: str, body: bytes) -> Reply:
    """With the faults of this cluster."""
    cluster.requests.append(f"{method} {path}")
    fault = cluster.take_fault(method, path)
    match fault:
        case Hang():
            if fault.carried_out:
                answer(ray, cluster, method, path, body, ray.now())
            await asyncio.get_running_loop().create_future()
        case Answer():
            if fault.carried_out:
                answer(ray, cluster, method, path, body, ray.now())
            return Reply(fault.status, fault.body)
        case Stale() if method == "GET":
            return answer(ray, cluster, method, path, body, ray.now() - fault.seconds)
        case Forget():
            return _accept_and_forget(ray, cluster, method, path, body)
    reply = answer(ray, cluster, method, path, body, ray.now())
    if isinstance(fault, SlowBody):
        await asyncio.sleep(fault.seconds)
    return reply


def _accept_and_forget(ray: ScriptedRay, cluster: ScriptedCluster, method: str, path: str, body: bytes) -> Reply:
    jobs, deployed, former = dict(cluster.jobs), cluster.deployed, cluster.former
    reply = answer(ray, cluster, method, path, body, ray.now())
    cluster.jobs, cluster.deployed, cluster.former = jobs, deployed, former
    return reply
