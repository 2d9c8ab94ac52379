"""A fleet of RayClusters on an API server: told what to be, watched from the beginning, and compared with its lives."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import msgspec

from fleet.history import Seen, owner_of, read_event, role_of_pod
from fleet.lives import CLUSTERS, Shape, Turn, build_cluster, build_spec_changes, life_of, name_of
from heliostat.api.crds import all_crds
from testing.test_apiserver import client_context

Tree: TypeAlias = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS, SERVICES = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/services"
_NOT_OURS = ("kubernetes",)
_MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


class FleetApi:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self.history: list[Seen] = []

    async def install_definitions(self) -> None:
        for definition in all_crds(slim=True):
            await self._ask("POST", DEFINITIONS, definition)

    async def take_turn(self, turn: Turn) -> None:
        path = f"{CLUSTERS}/{name_of(turn.number)}"
        if turn.shape is None:
            await self._ask("DELETE", path)
        elif turn.is_new:
            await self._ask("POST", CLUSTERS, build_cluster(turn.number, turn.shape))
        else:
            await self._ask("PATCH", path, {"spec": build_spec_changes(turn.shape)})

    async def list_items(self, path: str) -> list[Tree]:
        items: list[Tree] = (await self._ask("GET", path))["items"]
        return [item for item in items if item["metadata"]["name"] not in _NOT_OURS]

    async def watch(self, path: str) -> None:
        query = {"watch": "1", "timeoutSeconds": "3000"}
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.get(path, params=query, timeout=timeout) as answer:
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                self.history += [read_event(msgspec.json.decode(line)) for line in lines]

    async def _ask(self, method: str, path: str, tree: Tree | None = None) -> Tree:
        headers = _MERGE_PATCH if method == "PATCH" else None
        async with self._session.request(method, path, json=tree, headers=headers) as answer:
            found: Tree = await answer.json()
            assert answer.status < 300, found
            return found


@contextlib.asynccontextmanager
async def watched_fleet(address: str, kubeconfig: Path) -> AsyncIterator[FleetApi]:
    connector = aiohttp.TCPConnector(ssl=client_context(kubeconfig), limit=32)
    async with aiohttp.ClientSession(address, connector=connector) as session:
        api = FleetApi(session)
        await api.install_definitions()
        watches = [asyncio.create_task(api.watch(path)) for path in (CLUSTERS, PODS, SERVICES)]
        try:
            yield api
            assert not any(watch.done() for watch in watches), "a watch has ended, and with it the history"
        finally:
            for watch in watches:
                watch.cancel()
            await asyncio.gather(*watches, return_exceptions=True)


async def find_differences(api: FleetApi, clusters: int) -> list[str]:
    """Where the state is not exactly what the lives end with."""
    shapes = {name_of(number): shape for number in range(clusters) if (shape := life_of(number)[-1]) is not None}
    found = {tree["metadata"]["name"]: tree for tree in await api.list_items(CLUSTERS)}
    if found.keys() != shapes.keys():
        return [f"clusters that are there or not: {found.keys() ^ shapes.keys()}"]
    uids = {name: str(tree["metadata"]["uid"]) for name, tree in found.items()}
    expected = {(uids[name], role): count for name, shape in shapes.items() for role, count in shape.pods().items()}
    services = {(uid, f"{name}-head-svc"): 1 for name, uid in uids.items()}
    return [
        *_compare("Pods", expected, Counter((owner_of(pod), role_of_pod(pod)) for pod in await api.list_items(PODS))),
        *_compare("Services", services, Counter(map(_owner_and_name, await api.list_items(SERVICES)))),
        *(problem for name, tree in found.items() for problem in _compare_status(name, tree, shapes[name])),
    ]


def _owner_and_name(tree: Tree) -> tuple[str, str]:
    return owner_of(tree), tree["metadata"]["name"]


def _compare(what: str, expected: dict[Any, int], found: dict[Any, int]) -> list[str]:
    keys = sorted(expected.keys() | found.keys())
    return [
        f"{what} {key}: {found.get(key, 0)} instead of {expected.get(key, 0)}"
        for key in keys
        if found.get(key, 0) != expected.get(key, 0)
    ]


def _compare_status(name: str, cluster: Tree, shape: Shape) -> list[str]:
    status = cluster.get("status", {})
    state, workers = ("suspended", 0) if shape.suspend else ("ready", shape.small + shape.large)
    told = status.get("state"), status.get("readyWorkerReplicas", 0)
    return [] if told == (state, workers) else [f"{name} tells {told} instead of {state}, {workers}"]
