"""Ray in a simulated world: a dashboard for each head Pod, which knows what was submitted there and takes it with it.

The operator comes here through the API server's service proxy; submitter Pods come by address. Whatever is accepted is
judged at that moment. J1: once per attempt. J2: under an id that was persisted before.
"""

import asyncio
import random
import re
from contextlib import suppress
from functools import partial

import msgspec
from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp
from heliostat.ray.answers import ENDED
from heliostat.runtime.errors import ApiError
from heliostat.runtime.transport import Call, Chunks, Reply
from heliostat.testing.scripted_ray import (
    STRICT,
    Accepted,
    Answer,
    Forget,
    Hang,
    RayFault,
    RayTransport,
    ScriptedRay,
    SlowBody,
    Stale,
)
from heliostat.testing.scripted_ray.routes import status_of
from heliostat.testing.scripted_ray.state import ScriptedCluster, ScriptedJob
from heliostat.testing.scripted_ray.transport import locate
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import World
from simulation.rayclusters.manifests import NAMESPACE, PODS
from simulation.rayclusters.nodes import SIDECAR, has_sidecar, restart
from simulation.rayclusters.reading import (
    HEAD,
    does_answer,
    has_ray_ended,
    instance_of,
    is_live,
    label,
    name_of,
    uid_of,
)

JOBS = "/api/jobs/"
NOBODY = Reply(503, b'{"kind":"Status","status":"Failure","message":"no endpoints available","code":503}')


class Taken(Struct):
    """An accepted submission; ``head`` is the Ray that took it: a container of a Pod, in one of its lives."""

    id: str
    head: str
    job: ScriptedJob
    line: int = 0  # of the trace, at that moment
    is_forgotten: bool = False  # by a Ray that said it had taken it


class Dashboards:
    """A transport, for ``World.serve``."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.taken: list[Taken] = []
        self.asked_to_stop: set[str] = set()  # ids
        self.now = world.now
        self.flakiness = 0.0  # how many submitters lose their connection and end, while Ray works on
        self.mortality = 0.0  # how many heads die as soon as they have taken a job
        self.lied: dict[str, int] = {}  # ids that a Ray has denied although it had them; since this line of the trace
        self._denied_at: dict[str, float] = {}  # when a dashboard was last made to deny what it has
        self.by_users: set[str] = set()  # ids that no RayJob has thought of
        self._chance = stream(world.seed, "submitters")
        self._losses = stream(world.seed, "losses")
        self._ray = ScriptedRay(world.now, STRICT)
        self._ray.on_accepted = self._accepted
        self._transport = RayTransport(self._ray)
        world.state.beside["ray"] = self

    async def send(self, call: Call, seconds: float) -> Reply:
        name, rest = locate(call.path)
        head = find_head(self.world.state, name.partition("/")[2])
        if head is None:
            return NOBODY
        cluster = self.cluster_of(head)
        self._check(call, cluster, rest)
        inner = msgspec.structs.replace(call, path=f"/{NAMESPACE}/{instance_of(head)}{rest}")
        try:
            reply = await self._transport.send(inner, seconds)
            if call.method == "GET" and reply.status == 404 and rest.removeprefix(JOBS) in cluster.jobs:
                self.lied[rest.removeprefix(JOBS)] = len(self.world.trace)
        finally:
            self._note_forgotten(instance_of(head), cluster)
        return reply

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self.send(call, seconds)

    async def close(self) -> None:
        """Nothing is held."""

    def cluster_of(self, head: JsonObject) -> ScriptedCluster:
        return self._ray.cluster(f"{NAMESPACE}/{instance_of(head)}")

    def takes_of(self, job_id: str) -> list[Taken]:
        """Those that became something."""
        return [taken for taken in self.taken if taken.id == job_id and not taken.is_forgotten]

    def _note_forgotten(self, head: str, cluster: ScriptedCluster) -> None:
        for taken in self.taken:
            if taken.head == head and cluster.jobs.get(taken.id) is not taken.job:
                taken.is_forgotten = True

    def status_of(self, taken: Taken) -> str:
        """The truth, also of a head that is gone."""
        return status_of(self._ray.script, taken.job, self._ray.now())

    def is_kept(self, taken: Taken) -> bool:
        """Its head is there and can be asked."""
        return not taken.is_forgotten and any(_is_up(pod, taken.head) for pod in self.world.state.all("pods"))

    def _check(self, call: Call, cluster: ScriptedCluster, rest: str) -> None:
        if call.method != "POST":
            return
        if rest.endswith("/stop"):
            self.asked_to_stop.add(rest.removeprefix(JOBS).removesuffix("/stop"))
        elif rest == JOBS:
            id_ = msgspec.json.decode(call.body)["submission_id"]
            if id_ in cluster.jobs and not self._is_excused(id_, call.path):
                self.world.report(f"J1: {id_} is offered to a Ray that has it")

    def _is_excused(self, id_: str, path: str) -> bool:
        """Who was lied to may offer a job again: its id is known, so Ray does not accept it, and nothing runs twice.

        That is so while the lie is the last that was heard of the job, and nobody had heard that it was accepted.
        """
        owner = find_job_by_id(self.world.state, id_)
        if id_ not in self.lied or owner is None or status_of_job(owner).get("jobStatus"):
            return False
        has_heard = any(f"{path}{id_} → 200" in line for line in self.world.trace[self.lied[id_] :])
        return not has_heard and not any(self._was_told(taken, owner) for taken in self.taken if taken.id == id_)

    def _accepted(self, accepted: Accepted) -> None:
        cluster = self._ray.cluster(accepted.cluster)
        earlier = [taken for taken in self.taken if taken.id == accepted.id]
        owner = find_job_by_id(self.world.state, accepted.id)
        head = accepted.cluster.partition("/")[2]
        self.taken.append(Taken(accepted.id, head, cluster.jobs[accepted.id], len(self.world.trace)))
        if self.mortality and self._chance.random() < self.mortality:
            self.world.spawn(self._lose(head))
        if accepted.id in self.by_users:
            return
        if owner is None:
            self._check_ownerless(accepted.id)
            return
        if any(self.is_kept(taken) for taken in earlier):
            self.world.report(f"J1: {accepted.id} is accepted twice, and the first one is still there")
        if earlier and status_of_job(owner).get("jobStatus"):
            self.world.report(f"J1: {accepted.id} is accepted again after the status had told of it")
        if any(self._was_told(taken, owner) for taken in earlier):
            self.world.report(f"J1: {accepted.id} is accepted again by who had heard that it was taken")

    def _was_told(self, taken: Taken, owner: JsonObject) -> bool:
        """The operator has had Ray's answer, and has not begun anew since. Whoever shares a cluster shares its path.

        An answer that came when it had given up waiting (it stood still meanwhile), or that was lost on its way, has
        told it nothing; nor does it tell anything to whoever leads next.
        """
        status, since = status_of_job(owner), self.world.trace[taken.line :]
        path = f"/services/{status.get('rayClusterName')}-head-svc:"
        is_answered = any(path in line and line.endswith(f"{JOBS} → 200") for line in since)
        is_failed = _is_lost(path, self.world.trace[: taken.line]) or any(
            path in line and f"{JOBS}: " in line for line in since
        )
        leases = {line.split()[1] for line in since if "/leases/" in line and line.endswith("→ 200")}
        is_anew = len(leases) > 1 or any("begins life" in line or "lost the lease" in line for line in since)
        return is_answered and not is_failed and not is_anew and "clusterSelector" not in owner["spec"]

    async def _lose(self, head: str) -> None:
        """At once, with all that it knew."""
        for pod in [pod for pod in self.world.state.all("pods") if instance_of(pod) == head]:
            await self.end_ray(pod)

    async def end_ray(self, head: JsonObject) -> None:
        """The Pod goes, or Ray's container alone, which is started again in its place."""
        may_restart = head["spec"].get("restartPolicy") == "Always"
        if may_restart and self._losses.random() < 0.5:
            now, seconds = (
                lambda: format_timestamp(self.now()),
                self._losses.choice((1.0, 4.0, 20.0)) * self._losses.uniform(0.5, 1.5),
            )
            await restart(self.world, head, now, seconds)
            return
        with suppress(ApiError):
            await self.world.request("DELETE", f"{PODS}/{name_of(head)}", {"gracePeriodSeconds": 0})

    def _check_ownerless(self, id_: str) -> None:
        """Its RayJob may be gone, and its submitter is about to go; then so is the cluster, unless it was chosen."""
        gone = [job for job in self.world.state.ever("rayjobs") if status_of_job(job).get("jobId") == id_]
        if not gone:
            self.world.report(f"J2: {id_} is accepted, and no RayJob has written it down")
        elif "clusterSelector" in gone[0]["spec"]:
            self.world.report(f"J8: {id_} is accepted on a cluster that stays, and its RayJob is gone")

    # What submitter Pods do.

    async def submit(self, pod: JsonObject) -> int | None:
        """As the command of a submitter: wait for Ray, submit what it does not know, follow it to its end."""
        container = next((each for each in pod["spec"]["containers"] if each["name"] == SIDECAR), None)
        container = container or pod["spec"]["containers"][0]
        words = " ".join(container["args"])
        service = re.findall(r"--address http://([^.\s]+)", words)[0]
        id_ = next(each["value"] for each in container["env"] if each["name"] == "RAY_JOB_SUBMISSION_ID")
        entrypoint = words.rpartition(" -- ")[2].partition(" ;")[0]
        await asyncio.sleep(self._chance.uniform(0.0, 3.0))  # it has to start first
        look = partial(_itself, pod) if has_sidecar(pod) else partial(find_head, service=service)
        while (head := look(self.world.state)) is None and _is_there(self.world.state, pod):
            await asyncio.sleep(2.0)
        if head is None or not _is_there(self.world.state, pod):
            return None
        cluster = self.cluster_of(head)
        if id_ not in cluster.jobs:
            cluster.jobs[id_] = ScriptedJob(id_, entrypoint, self._ray.now(), {}, {})
            self._ray.accept(cluster, id_, entrypoint)
        return await self._follow(pod, head, cluster.jobs[id_])

    async def _follow(self, pod: JsonObject, head: JsonObject, job: ScriptedJob) -> int | None:
        if self._ray.script.endless in job.entrypoint:
            return 0  # a submitter that does not wait
        patience = self._chance.uniform(0.0, 6.0) if self._chance.random() < self.flakiness else float("inf")
        begun = self.world.time()
        while (status := status_of(self._ray.script, job, self._ray.now())) not in ENDED:
            if not _is_there(self.world.state, pod):
                return None
            is_up = any(_is_up(each, instance_of(head)) for each in self.world.state.all("pods"))
            if not is_up or self.world.time() > begun + patience:
                return 1  # the connection is lost
            await asyncio.sleep(1.0)
        return 1 if status == "FAILED" else 0

    async def submit_by_hand(self, service: str, id_: str, entrypoint: str) -> None:
        """As a user of InteractiveMode."""
        self.by_users.add(id_)
        while (head := find_head(self.world.state, service)) is None:
            await asyncio.sleep(1.0)
        cluster = self.cluster_of(head)
        cluster.jobs[id_] = ScriptedJob(id_, entrypoint, self._ray.now(), {}, {})
        self._ray.accept(cluster, id_, entrypoint)

    async def misbehave(self, chance: random.Random, until: float) -> None:
        """For a while: calls that hang, 5xx that may have been carried out, denials, nonsense, old or slow answers."""
        while self.world.time() < until:
            await asyncio.sleep(chance.uniform(2.0, 10.0))
            heads = [pod for pod in self.world.state.all("pods") if label(pod, "node-type") == HEAD and is_live(pod)]
            if heads:
                cluster = self.cluster_of(chance.choice(heads))
                cluster.heal()  # troubles do not pile up
                self._disturb(cluster, chance)
        for cluster in self._ray.clusters.values():
            cluster.heal()

    def _disturb(self, cluster: ScriptedCluster, chance: random.Random) -> None:
        """A dashboard lags for seconds: it does not deny a job that it has again and again."""
        times, carried_out = chance.randint(1, 4), chance.random() < 0.5
        seconds, code = chance.uniform(1.0, 4.0), chance.choice((500, 502, 503))
        troubles: tuple[RayFault, ...] = (
            Hang(times=times, carried_out=carried_out),
            Answer(times=times, status=code, carried_out=carried_out),
            Answer(method="GET", path=JOBS, times=min(times, 2), status=404, body=b"Job does not exist"),
            Answer(times=times, status=200, body=b"<html>starting</html>"),
            Stale(times=times, seconds=seconds),
            SlowBody(times=times, seconds=2 * seconds),
            Forget(method="POST", path=JOBS, times=1),
        )
        trouble = chance.choice(troubles)
        if isinstance(trouble, Stale) or getattr(trouble, "status", 0) == 404:
            if self.now() < self._denied_at.get(cluster.name, 0.0) + 20.0:
                return
            self._denied_at[cluster.name] = self.now()
        cluster.disturb(trouble)


def dashboards_of(state: State) -> Dashboards:
    found: Dashboards = state.beside["ray"]
    return found


def find_head(state: State, service: str) -> JsonObject | None:
    """The Pod behind a head Service: it answers when it is ready."""
    tree = state.get("services", NAMESPACE, service)
    selector = ((tree or {}).get("spec") or {}).get("selector") or {}
    for pod in state.all("pods"):
        labels = pod["metadata"].get("labels") or {}
        if selector and selector.items() <= labels.items() and is_live(pod) and does_answer(pod):
            return pod
    return None


def find_job_by_id(state: State, id_: str) -> JsonObject | None:
    return next((job for job in state.all("rayjobs") if status_of_job(job).get("jobId") == id_), None)


def status_of_job(job: JsonObject) -> JsonObject:
    status: JsonObject = job.get("status") or {}
    return status


def _is_lost(path: str, before: list[str]) -> bool:
    """The answer to the submission that is under way: it is carried out, and who sent it hears something else."""
    last = next(
        (line for line in reversed(before) if path in line and (f"{JOBS} meets" in line or "→ 200" in line)), ""
    )
    return any(fault in last for fault in ("carried_out=True", "LoseReply", "LandLate"))


def _itself(pod: JsonObject, state: State) -> JsonObject | None:
    return next((each for each in state.all("pods") if uid_of(each) == uid_of(pod) and does_answer(each)), None)


def _is_up(pod: JsonObject, instance: str) -> bool:
    """This Ray, and it runs."""
    return instance_of(pod) == instance and is_live(pod) and not has_ray_ended(pod)


def _is_there(state: State, pod: JsonObject) -> bool:
    return any(uid_of(each) == uid_of(pod) for each in state.all("pods"))
