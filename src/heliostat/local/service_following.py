"""Follow a RayService until it serves what its spec asks for, or until it is clear that it never will.

An edit may bring a second cluster up beside the one that serves: both are shown until the first is out of use. What no
waiting mends ends the wait at once: a Pod that cannot start, an application that Serve gave up, a refusal.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from heliostat.desired import labels
from heliostat.explain.rayservice.refusal import find_refusal, is_followed
from heliostat.kube.conditions import get_condition, is_condition_true
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.pods import view_pod
from heliostat.kube.resource_types import ResourceType
from heliostat.local.file_pods import POD, FilePods, fetch_file_pods
from heliostat.local.following import NotReadyError, Patience, RunError, check_hope
from heliostat.local.progress import is_current, is_said_ready
from heliostat.local.service_applications import ServiceApplications, ask_serve
from heliostat.local.service_progress import ServicePicture, Side, picture_service
from heliostat.local.session import Session
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.answers import RUNNING
from heliostat.plan.rayservice.observed import PENDING
from heliostat.runtime.errors import ApiError

EVENT = ResourceType("v1", "Event", "events")
RAY_CLUSTER = ResourceType("ray.io/v1", "RayCluster", "rayclusters")
GIVEN_UP = "DEPLOY_FAILED"
_POLL_SECONDS = 0.5
_SERVE_SECONDS = 3.0
_STALE_SECONDS = 5.0  # after which a status that is not about this generation is believed: an edit may change nothing
_FAILED_SECONDS = 10.0  # in which what Serve said of the configuration before is replaced


class Followed(Struct, frozen=True, kw_only=True):
    """``deadline`` is on the monotonic clock."""

    service: JsonObject
    trees: Sequence[JsonObject]  # all that its file has made
    deadline: float
    since: str = ""  # when its spec became what it is now: what was said before is about another one


class Seen(Struct, frozen=True, kw_only=True):
    service: JsonObject
    clusters: dict[str, JsonObject]
    picture: ServicePicture


class ServiceWatcher:
    """Looks at a service and everything around it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._applications = ServiceApplications(session)

    async def look(self, service: JsonObject) -> Seen | None:
        """None when it is gone."""
        found = await self._session.find(service)
        if found is None or found["metadata"]["uid"] != service["metadata"]["uid"]:
            return None
        namespace, name = found["metadata"]["namespace"], found["metadata"]["name"]
        selector = f"{labels.ORIGIN_NAME}={name},{labels.ORIGIN_KIND}=RayService"
        listed = await self._session.list_in(RAY_CLUSTER, namespace, selector)
        clusters = {each["metadata"]["name"]: each | {"kind": "RayCluster"} for each in listed}
        pods: dict[str, list[JsonObject]] = {}
        for pod in await self._session.list_in(POD, namespace, labels.CLUSTER) if clusters else ():
            pods.setdefault(str(pod["metadata"]["labels"][labels.CLUSTER]), []).append(pod)
        asked = await self._applications.ask(found, clusters)
        return Seen(service=found, clusters=clusters, picture=picture_service(found, clusters, pods, asked))

    async def is_followed(self, service: JsonObject, cluster: JsonObject) -> bool:
        """Whether Serve has what the service asks for, or says nothing."""
        if not is_condition_true((cluster.get("status") or {}).get("conditions"), "HeadPodReady"):
            return True
        try:
            told = await ask_serve(self._session, cluster, _SERVE_SECONDS)
        except ApiError:
            return True
        return told is None or is_followed(service, told)

    async def fetch_events(self, service: JsonObject) -> list[JsonObject]:
        return await self._session.list_in(EVENT, service["metadata"]["namespace"])


class ServiceFollower:
    def __init__(self, session: Session, followed: Followed, show: Callable[[ServicePicture], None]) -> None:
        self._session = session
        self._followed = followed
        self._show = show
        self._patience = Patience()
        self._failed_since: dict[tuple[str, str, str], float] = {}
        self._watcher = ServiceWatcher(session)
        self._calm_since: float | None = None
        self._other_since: float | None = None

    async def follow(self) -> JsonObject:
        """The service once it serves as its spec asks for. Raises RunError."""
        picture: ServicePicture | None = None
        while True:
            seen = await self._watcher.look(self._followed.service)
            if seen is None or "deletionTimestamp" in seen.service["metadata"]:
                raise RunError(f"{self._title} was deleted while it was followed")
            if _asks_for(seen.service) != _asks_for(self._followed.service):
                raise RunError(f"{self._title} was changed by somebody else while it was followed")
            if seen.picture != picture:
                picture = seen.picture
                self._show(picture)
            if await self._is_followed(seen) and self._is_done(seen):
                return seen.service
            self._check_verdict(seen.service)
            await self._check_hope(seen)
            await asyncio.sleep(_POLL_SECONDS)

    @property
    def _title(self) -> str:
        return f"RayService {self._followed.service['metadata']['name']}"

    async def _is_followed(self, seen: Seen) -> bool:
        """Whether Serve has the configuration of the spec: what it runs may be the one before, which it goes on with.

        A report in words of Serve's own is believed after a while, unless it refused the configuration.
        """
        cluster = seen.clusters.get(seen.picture.sides[-1].cluster) if seen.picture.sides else None
        if cluster is None or await self._watcher.is_followed(seen.service, cluster):
            self._other_since = None
            return True
        now = time.monotonic()
        self._other_since = now if self._other_since is None else self._other_since
        if now - self._other_since < _FAILED_SECONDS:
            return False
        name = cluster["metadata"]["name"]
        events = await self._watcher.fetch_events(seen.service)
        refusal = find_refusal(seen.service, name, events, self._followed.since)
        if refusal:
            raise NotReadyError(f"Serve on {name} did not take spec.serveConfigV2: {refusal}")
        return True

    def _is_done(self, seen: Seen) -> bool:
        if not _looks_done(seen):
            self._calm_since = None
            return False
        now = time.monotonic()
        self._calm_since = now if self._calm_since is None else self._calm_since
        return is_current(seen.service) or now - self._calm_since > _STALE_SECONDS

    def _check_verdict(self, service: JsonObject) -> None:
        status = service.get("status") or {}
        ready = get_condition(status.get("conditions"), statuses.READY) or {}
        if ready.get("reason") in ("ValidationFailed", statuses.TIMED_OUT) and is_current(service):
            raise NotReadyError(f"{self._title} is not served: {ready.get('message') or ready['reason']}")
        if service["spec"].get("suspend") and statuses.is_true(status, statuses.SUSPENDED):
            raise NotReadyError(f"{self._title} is suspended, as its file says; set spec.suspend to false to run it")

    async def _check_hope(self, seen: Seen) -> None:
        """Of the cluster that gets ready: one that serves goes on doing so."""
        side = seen.picture.sides[-1] if seen.picture.sides else None
        if side is None:
            return self._check_time([])
        cluster = seen.clusters.get(side.cluster)
        self._check_applications(side)
        if cluster is not None and not is_said_ready(cluster):
            others = await self._fetch_others(cluster)
            check_hope(cluster, FilePods(side.pods, others), self._patience, self._followed.deadline)
        return self._check_time([side])

    async def _fetch_others(self, cluster: JsonObject) -> tuple[JsonObject, ...]:
        """Pods of the file that are not of the cluster."""
        beside = [tree for tree in self._followed.trees if tree["kind"] != "RayService"]
        return (await fetch_file_pods(self._session, [*beside, cluster], cluster)).others if beside else ()

    def _check_applications(self, side: Side) -> None:
        """An application that Serve gave up stays so until its configuration changes."""
        now = time.monotonic()
        for name, state in side.applications.items():
            if state != GIVEN_UP:
                continue
            words = side.words[name]
            if now - self._failed_since.setdefault((side.cluster, name, words), now) >= _FAILED_SECONDS:
                raise NotReadyError(f"application {name} failed on {side.cluster}: {words or 'no reason is told'}")

    def _check_time(self, sides: Sequence[Side]) -> None:
        if time.monotonic() > self._followed.deadline:
            waiting = [view_pod(pod).name for side in sides for pod in side.pods]
            where = f"; its Pods: {', '.join(waiting)}" if waiting else ""
            raise NotReadyError(f"{self._title} was not ready in time (--timeout){where}")


def _asks_for(service: JsonObject) -> Any:
    """Its spec without what is empty: that comes and goes with who writes it."""
    return _without_empty(service["spec"])


def _without_empty(tree: Any) -> Any:
    if isinstance(tree, dict):
        kept = {key: _without_empty(value) for key, value in tree.items()}
        return {key: value for key, value in kept.items() if value not in ({}, [], None)}
    return [_without_empty(value) for value in tree] if isinstance(tree, list) else tree


def _looks_done(seen: Seen) -> bool:
    status = seen.service.get("status") or {}
    states = [state for side in seen.picture.sides for state in side.applications.values()]
    has_pending = bool((status.get(PENDING) or {}).get("rayClusterName"))
    return (
        statuses.is_true(status, statuses.READY)
        and not has_pending
        and bool(states)
        and all(state == RUNNING for state in states)
    )
