"""Follow what a file has made until its RayCluster is ready, or until it is clear that it never will be.

Ready is what the operator says of the spec as it is now. An operator that says ready and not of which spec is asked
for its plan: with nothing left to do the cluster is as ready as it gets. A Pod that the API server calls invalid, or
that is in a state that no waiting mends, ends the wait; while one beside the cluster is not ready, both get a
while: the cluster may wait for it, or make do without it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from heliostat.explain.events import Warnings
from heliostat.explain.explanation import one_line
from heliostat.explain.hopeless import is_hopeless
from heliostat.explain.pods import PodTrouble, find_pod_trouble
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.pods import view_pod
from heliostat.local.file_pods import FilePods, fetch_file_pods
from heliostat.local.progress import ClusterView, find_failure, is_current, is_said_ready, view_cluster
from heliostat.local.session import Session

_POLL_SECONDS = 0.2
_BESIDE_SECONDS = 20.0  # for a Pod of the file that is not the cluster's own, such as its Redis
_UNSEEN_SECONDS = 10.0  # in which Pods of an earlier spec may be replaced by the operator
_STALE_SECONDS = 5.0  # after which a status that is not about this spec is doubted
_INVALID = " is invalid: "  # the API server's words for an object that it takes from nobody
_MENDED_SECONDS = 3.0  # in which the Pods of a spec that was mended are made

AskWhetherDone = Callable[[JsonObject], Awaitable[bool]]


class RunError(Exception):
    """It cannot go on; the text says why and what to do."""


class NotReadyError(RunError):
    """The cluster is not ready and will not be in time; ``pods`` are those in trouble, as they are now."""

    def __init__(self, message: str, troubles: Sequence[PodTrouble] = ()) -> None:
        super().__init__(message)
        self.troubles = tuple(troubles)


class Patience:
    """How long each trouble has been the same."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}

    def measure(self, whose: str, cause: str, now: float) -> float:
        return now - self._since.setdefault((whose, cause), now)

    def find_hopeless(self, troubles: Sequence[PodTrouble], now: float, offset: float = 0.0) -> list[PodTrouble]:
        """Those that have lasted long enough; ``offset`` is how much longer they must."""
        found = []
        for trouble in troubles:
            lasting = self.measure(trouble.pod.uid, trouble.cause, now)
            if lasting >= offset and is_hopeless(trouble, lasting - offset):
                found.append(trouble)
        return found


async def follow_until_ready(
    session: Session,
    trees: Sequence[JsonObject],
    cluster: JsonObject,
    show: Callable[[ClusterView], None],
    deadline: float,
    ask_whether_done: AskWhetherDone,
) -> JsonObject:
    """The cluster once it is ready. ``trees`` are all objects of the file; the deadline is on the monotonic clock."""
    name, patience, doubt = cluster["metadata"]["name"], Patience(), _Doubt(ask_whether_done)
    view: ClusterView | None = None
    while True:
        found = await session.find(cluster)
        if found is None or found["metadata"]["uid"] != cluster["metadata"]["uid"]:
            raise RunError(f"RayCluster {name} was deleted while it was waited for")
        pods = await fetch_file_pods(session, trees, cluster)
        fresh = view_cluster(found, pods.of_cluster, pods.others)
        if fresh != view:
            view = fresh
            show(fresh)
        if is_said_ready(found) and (is_current(found) or await doubt.is_done(found)):
            return found
        check_hope(found, pods, patience, deadline)
        await asyncio.sleep(_POLL_SECONDS)


class _Doubt:
    """Of a status that says ready, but not of this spec."""

    def __init__(self, ask: AskWhetherDone) -> None:
        self._ask = ask
        self._next = time.monotonic() + _STALE_SECONDS

    async def is_done(self, cluster: JsonObject) -> bool:
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + _STALE_SECONDS
        return await self._ask(cluster)


def check_hope(cluster: JsonObject, pods: FilePods, patience: Patience, deadline: float) -> None:
    """Raises NotReadyError for a cluster that will not be ready, or not in time."""
    name, now = cluster["metadata"]["name"], time.monotonic()
    if cluster["spec"].get("suspend") and (cluster.get("status") or {}).get("state") == "suspended":
        raise NotReadyError(f"RayCluster {name} is suspended, as its file says; set spec.suspend to false to run it")
    failure = find_failure(cluster)
    if _INVALID in failure and patience.measure(cluster["metadata"]["uid"], failure, now) >= _MENDED_SECONDS:
        raise NotReadyError(f"RayCluster {name} cannot become ready: {failure}")
    own, beside = _find_troubles(pods.of_cluster), _find_troubles(pods.others)
    unseen = 0.0 if is_current(cluster) else _UNSEEN_SECONDS
    hopeless = patience.find_hopeless(own, now, _BESIDE_SECONDS if beside else unseen)
    if hopeless or patience.find_hopeless(beside, now, _BESIDE_SECONDS):
        blamed = (*beside, *hopeless)  # what the cluster depends on first
        why = f"Pod {blamed[0].pod.name}: {one_line(blamed[0].why)}"
        raise NotReadyError(f"RayCluster {name} cannot become ready: {why}", blamed)
    if now > deadline:
        raise NotReadyError(f"RayCluster {name} was not ready in time (--timeout)", (*own, *beside))


def _find_troubles(pods: Sequence[JsonObject]) -> list[PodTrouble]:
    troubles = (find_pod_trouble(view_pod(pod), Warnings(())) for pod in pods)
    return [trouble for trouble in troubles if trouble is not None]
