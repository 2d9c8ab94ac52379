"""Many ray.io objects under one operator: simulated nodes, a scripted Ray, and who follows until they are there.

What the benchmarks of RayJobs and RayServices have alike, their bars included.
"""

import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import aiohttp
import msgspec
from msgspec import Struct

from heliostat.api.crds import all_crds
from heliostat.kube.jsontree import JsonObject
from load.control_planes import own_plane
from load.operators import Operator, started
from load.scripted_ray import scripted_ray
from load.targets import Target

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Bar(Struct, frozen=True):
    name: str
    value: float
    limit: float
    unit: str = ""

    def is_met(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        sign = "ok " if self.is_met() else "NOT"
        return f"  {sign} {self.name}: {self.value:.2f} (bar {self.limit:g}{self.unit})"


def report(bars: Iterable[Bar]) -> int:
    """The exit code: 1 when one of them is missed."""
    bars = tuple(bars)
    for bar in bars:
        print(bar, flush=True)
    return 0 if all(bar.is_met() for bar in bars) else 1


def build_cluster_spec() -> JsonObject:
    """A head alone, which asks for little."""
    resources = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    container = {"name": "ray-head", "image": "rayproject/ray:2.52.0", "resources": resources}
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}
    return {"rayVersion": "2.52.0", "headGroupSpec": head}


class Desk(Struct, frozen=True):
    """Where everything is: the API, the operator, and the scripted Ray."""

    target: Target
    operator: Operator
    ray: str

    def session(self) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {self.target.token}"}
        connector = aiohttp.TCPConnector(ssl=False, limit=32)
        return aiohttp.ClientSession(self.target.url, connector=connector, headers=headers, raise_for_status=True)

    def asked(self) -> int:
        with urllib.request.urlopen(f"http://{self.ray}/-/asked", timeout=30) as answer:
            return int(answer.read())


@contextmanager
def open_desk(machines: int, *options: str) -> Iterator[Desk]:
    """``options`` are the scripted Ray's."""
    with scripted_ray("--strict", *options) as ray, own_plane(machines) as target:
        for definition in all_crds(slim=True):
            target.call("POST", CRDS, definition)
        with started(target, arguments=(f"--ray-gateway={ray}",)) as operator:
            operator.wait_until_quiet()
            yield Desk(target, operator, ray)


async def follow(session: aiohttp.ClientSession, path: str, hear: Callable[[JsonObject], bool], limit: float) -> None:
    """Until ``hear`` says that it has heard enough, for so many seconds at the most."""
    query = {"watch": "1", "timeoutSeconds": str(int(limit))}
    async with session.get(path, params=query, timeout=aiohttp.ClientTimeout(total=limit)) as answer:
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            heard = [hear(msgspec.json.decode(line)["object"]) for line in lines]
            if any(heard):
                return
