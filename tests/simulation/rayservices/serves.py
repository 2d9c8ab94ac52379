"""Serve in a simulated world: one for each head Pod, which knows what it was asked to run and takes it with it.

The operator comes through the API server's proxy, to dashboards and to Serve's own proxies. What is told is kept: laws
ask what the operator can have seen. V6: what runs, and was told to run, is not sent again.
"""

import asyncio
import random

import msgspec
from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.transport import Call, Chunks, Reply
from heliostat.testing.scripted_ray import (
    STRICT,
    Answer,
    Forget,
    Hang,
    RayScript,
    RayTransport,
    ScriptedCluster,
    ScriptedRay,
    SlowBody,
    Stale,
)
from heliostat.testing.scripted_ray.transport import locate
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import World
from simulation.rayclusters.manifests import NAMESPACE
from simulation.rayclusters.reading import HEAD, controller_uid, is_live, label, name_of, uid_of
from simulation.rayjobs.dashboards import NOBODY, find_head
from simulation.rayservices.reading import (
    find_service,
    image_of,
    is_endpoint,
    is_never_upgraded,
    pods_in_cluster,
    version_of,
    versions_in,
)

APPLICATIONS = "/api/serve/applications/"
HEALTH = "/-/healthz"
PROXY_SECONDS = 8.0  # after the first application until the proxies on workers answer: longer than it takes to run
STUCK = msgspec.structs.replace(STRICT, deploying_seconds=float("inf"))
TROUBLES: tuple[RayScript, ...] = (
    STUCK,
    msgspec.structs.replace(STRICT, flapping_seconds=4.0),
    msgspec.structs.replace(STRICT, following_seconds=15.0),
    msgspec.structs.replace(STRICT, are_proxies_healthy=False),
)


class Seen(Struct):
    """Of the Serve of one head."""

    first: float | None = None  # when it was first asked to run something
    told: tuple[str, float] | None = None  # versions and capacity that it told of last, since it was last asked
    ready: set[str] = set()  # versions of which it has told that all applications are RUNNING


class Serves:
    """A transport, for ``World.serve``."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.now = world.now
        self.ready: dict[str, set[str]] = {}  # by RayCluster: versions that were seen ready
        self._seen: dict[str, Seen] = {}  # by the UID of the head
        self._ray = ScriptedRay(world.now, STRICT)
        self._transport = RayTransport(self._ray)
        world.state.beside["serve"] = self

    async def send(self, call: Call, seconds: float) -> Reply:
        name, rest = locate(call.path)
        head = self._find(call, name.partition("/")[2])
        if head is None:
            return NOBODY
        if rest == HEALTH and self.seen(head).first is None:
            return NOBODY  # nothing listens there yet
        if call.method == "PUT":
            self._check(head, call.body)
        placed = msgspec.structs.replace(call, path=f"/{NAMESPACE}/{uid_of(head)}{rest}")
        before = self.serve_of(head).deployed
        try:
            reply = await self._transport.send(placed, seconds)
        finally:
            if self.serve_of(head).deployed is not before:
                self._deployed(head)
        if call.method == "GET" and rest == APPLICATIONS and reply.status == 200:
            self._told(head, reply.body)
        return reply

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self.send(call, seconds)

    async def close(self) -> None:
        """Nothing is held."""

    def _find(self, call: Call, name: str) -> JsonObject | None:
        state = self.world.state
        if "/services/" in call.path:
            return find_head(state, name)
        pod = state.get("pods", NAMESPACE, name)
        return pod if pod is not None and is_live(pod) and label(pod, "node-type") == HEAD else None

    def seen(self, head: JsonObject) -> Seen:
        return self._seen.setdefault(uid_of(head), Seen())

    def serve_of(self, head: JsonObject) -> ScriptedCluster:
        return self._ray.cluster(f"{NAMESPACE}/{uid_of(head)}")

    def version_at(self, head: JsonObject) -> str:
        """What it was last asked to run."""
        return versions_in(str(self.serve_of(head).applications))

    def can_answer(self, head: JsonObject) -> bool:
        """An application was deployed on it; in place, the former one answers until the next is there."""
        first, script = self.seen(head).first, self._ray.script_of(self.serve_of(head))
        return first is not None and self.now() >= first + script.deploying_seconds

    def is_held_back(self, pod: JsonObject) -> bool:
        """A worker is ready when the Serve of its cluster was begun: its probe asks the proxy on it."""
        state = self.world.state
        if label(pod, "node-type") == HEAD or not any(uid_of(each) == uid_of(pod) for each in state.all("pods")):
            return False
        begun = [self.seen(head).first for head in self.heads_of(label(pod, "cluster"))]
        return not any(first is not None and self.now() >= first + PROXY_SECONDS for first in begun)

    def heads_of(self, cluster: str) -> list[JsonObject]:
        return [pod for pod in pods_in_cluster(self.world.state, cluster) if label(pod, "node-type") == HEAD]

    def _check(self, head: JsonObject, body: bytes) -> None:
        asked, serve = asked_in(msgspec.json.decode(body)), self.serve_of(head)
        has = versions_in(str(serve.applications)), _percent(serve.target_capacity)
        if not asked[0]:
            self.world.report("V1: a configuration without applications is sent, and nobody asked for it")
        elif self.seen(head).told == asked == has:
            self.world.report(f"V6: {asked} is sent again to a Serve that has it, and has told so")
        cluster = self.world.state.get("rayclusters", NAMESPACE, label(head, "cluster"))
        service = find_service(self.world.state, controller_uid(cluster)) if cluster is not None else None
        if cluster is not None and service is not None and not self._is_for(service, cluster, asked[0]):
            self.world.report(f"V1: {asked[0]} is sent to {name_of(cluster)}, and is for another cluster")

    def _is_for(self, service: JsonObject, cluster: JsonObject, version: str) -> bool:
        """Some spec asks for this configuration on such a cluster; without upgrades, on any."""
        return any(
            version_of({"spec": spec}) == version
            and (image_of(spec["rayClusterConfig"]) == image_of(cluster["spec"]) or is_never_upgraded(spec))
            for spec in self.world.state.specs(service)
        )

    def _deployed(self, head: JsonObject) -> None:
        seen = self.seen(head)
        seen.told = None
        seen.first = self.now() if seen.first is None else seen.first

    def _told(self, head: JsonObject, body: bytes) -> None:
        try:
            report = msgspec.json.decode(body)
            applications = report["applications"]
        except (msgspec.MsgspecError, KeyError, TypeError):
            return
        configs = [each["deployed_app_config"] for each in applications.values()]
        seen, version = self.seen(head), versions_in(str(configs))
        seen.told = version, _percent(report["target_capacity"])
        if applications and all(each["status"] == "RUNNING" for each in applications.values()):
            seen.ready.add(version)
            self.ready.setdefault(label(head, "cluster"), set()).add(version)

    # Trouble.

    @property
    def healthy(self) -> RayScript:
        return STRICT

    def set_script(self, cluster: str, script: RayScript | None) -> None:
        """Of the Serve of a RayCluster, on the head that it has now."""
        for head in self.heads_of(cluster):
            self.serve_of(head).script = script

    def keep_stuck(self, is_stuck: bool) -> None:
        """Every Serve that has no script of its own."""
        self._ray.script = STUCK if is_stuck else STRICT

    async def misbehave(self, chance: random.Random, until: float) -> None:
        """For a while: a dashboard hangs, errs, lies or forgets; applications are stuck, flap, or do not follow."""
        while self.world.time() < until:
            await asyncio.sleep(chance.uniform(2.0, 10.0))
            pods = self.world.state.all("pods")
            heads = [pod for pod in pods if label(pod, "node-type") == HEAD and is_live(pod)]
            if heads:
                serve = self.serve_of(chance.choice(heads))
                serve.heal()  # troubles do not pile up
                serve.script = None
                _disturb(serve, chance)
        for serve in self._ray.clusters.values():
            serve.heal()
            serve.script = None


def _disturb(serve: ScriptedCluster, chance: random.Random) -> None:
    times, carried_out = chance.randint(1, 6), chance.random() < 0.5
    match chance.randrange(8):
        case 0:
            serve.disturb(Hang(times=times, carried_out=carried_out))
        case 1:
            status = chance.choice((500, 502, 503))
            serve.disturb(Answer(times=times, status=status, carried_out=carried_out))
        case 2:
            serve.disturb(Stale(times=times, seconds=chance.uniform(1.0, 8.0)))
        case 3:
            serve.disturb(Answer(times=times, status=200, body=b"<html>not what was asked for</html>", method="GET"))
        case 4:
            serve.disturb(Forget(times=times, method="PUT"))
        case 5:
            serve.disturb(SlowBody(times=times, seconds=chance.uniform(0.5, 5.0)))
        case _:
            serve.script = chance.choice(TROUBLES)


def asked_in(config: JsonObject) -> tuple[str, float]:
    return versions_in(str(config.get("applications"))), _percent(config.get("target_capacity"))


def _percent(capacity: float | None) -> float:
    return 100.0 if capacity is None else float(capacity)


def serves_of(state: State) -> Serves:
    found: Serves = state.beside["serve"]
    return found


def endpoints_of(state: State, cluster: str) -> list[JsonObject]:
    return [pod for pod in pods_in_cluster(state, cluster) if is_endpoint(pod)]
