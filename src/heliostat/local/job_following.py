"""Follow a RayJob from its cluster to its result: each state with its reason, and what its driver says as it says it.

The RayJob's own status decides how it ends. The log is read beside it and never holds the end up for long: the cluster
may be gone as soon as the job is over. A job that is tried again is followed again.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from textwrap import shorten

from msgspec import Struct

from heliostat.explain.explanation import one_line
from heliostat.kube.jsontree import JsonObject
from heliostat.local.cluster_token import fetch_token
from heliostat.local.file_pods import fetch_file_pods
from heliostat.local.following import Patience, RunError, check_hope
from heliostat.local.progress import is_said_ready, view_cluster
from heliostat.local.running import Show
from heliostat.local.service_dashboard import ServiceDashboard
from heliostat.local.session import Session
from heliostat.plan.rayjob.phases import TERMINAL, Phase
from heliostat.ray.answers import SUCCEEDED, JobInfo, does_nobody_listen
from heliostat.ray.dashboard import RayDashboard
from heliostat.ray.log_following import follow_logs
from heliostat.runtime.errors import ApiError, NotFoundError

_POLL_SECONDS = 0.2
_LAST_WORDS_SECONDS = 5.0  # for the rest of the log, once the job is over
STOP_SECONDS = 10.0
_EXIT_CODE = re.compile(r"exit code (\d{1,3})\b")
_REASON_WIDTH = 80  # what Ray says of a failure ends with the driver's whole log
_NOT_BEGUN = "the job had not begun"
_MARKS = {"Complete": "✓", "Failed": "✗", "ValidationFailed": "✗"}


class Followed(Struct, frozen=True, kw_only=True):
    """``deadline`` is for its cluster to be ready, on the monotonic clock."""

    job: JsonObject
    trees: Sequence[JsonObject]  # all that its file has made
    deadline: float


class JobFollower:
    def __init__(
        self, session: Session, followed: Followed, block: Callable[[Sequence[str]], None], show: Show
    ) -> None:
        """``block`` are the lines that change while it goes on."""
        self._session = session
        self._followed = followed
        self._block = block
        self._show = show
        self._patience = Patience()
        self._log: asyncio.Task[None] | None = None
        self._log_of = ""
        self._told = 0
        self._shown: tuple[str, ...] = ()
        self._exit_code: int | None = None
        self.job = followed.job

    async def follow(self) -> int:
        """The exit code of the job. Raises RunError."""
        try:
            while (phase := await self._look()) not in TERMINAL:
                if phase == Phase.VALIDATION_FAILED:
                    raise RunError(f"{self._title} is refused: {self._message}")
                if phase == Phase.SUSPENDED:
                    raise RunError(f"{self._title} is suspended, as its file says; set spec.suspend to false to run it")
                await asyncio.sleep(_POLL_SECONDS)
            return await self._end()
        finally:
            if self._log is not None:
                self._log.cancel()
                await asyncio.gather(self._log, return_exceptions=True)

    async def stop(self) -> str:
        """Ray is asked to stop the job; what became of that, in words."""
        job_id = str(self._status.get("jobId") or "")
        cluster = await self._find_cluster()
        dashboard = await self._open_dashboard(cluster) if cluster is not None and job_id else None
        if dashboard is None:
            return _NOT_BEGUN
        try:
            async with asyncio.timeout(STOP_SECONDS):
                is_asked = await dashboard.stop_job(job_id)
        except NotFoundError:
            return f"Ray does not know the job {job_id} yet, so there was nothing to stop"
        except (ApiError, TimeoutError) as error:
            if not self._status.get("jobStatus") and does_nobody_listen(str(error)):
                return _NOT_BEGUN  # its cluster is on its way: where nobody listens, nobody was told of it
            return f"Ray could not be asked to stop the job {job_id}: {str(error) or 'no answer'}"
        return f"Ray was asked to stop the job {job_id}" if is_asked else f"the job {job_id} was over already"

    @property
    def _status(self) -> JsonObject:
        return self.job.get("status") or {}

    @property
    def _title(self) -> str:
        return f"RayJob {self.job['metadata']['name']}"

    @property
    def _message(self) -> str:
        return one_line(str(self._status.get("message") or self._status.get("reason") or "no reason is told"))

    async def _look(self) -> str:
        """Its phase now; shown, with its cluster while that is on its way."""
        found = await self._session.find(self._followed.job)
        if found is None or found["metadata"]["uid"] != self._followed.job["metadata"]["uid"]:
            raise RunError(f"{self._title} was deleted while it was followed")
        self.job = found
        phase = str(self._status.get("jobDeploymentStatus") or "")
        cluster = await self._find_cluster()
        lines = [self._describe(phase)]
        if cluster is not None and phase == Phase.INITIALIZING:
            lines += await self._look_at_cluster(cluster)
        if cluster is not None and phase == Phase.RUNNING:
            self._follow_log(cluster)
        if tuple(lines) != self._shown:
            self._shown = tuple(lines)
            self._block(lines)
        return phase

    def _describe(self, phase: str) -> str:
        ray = str(self._status.get("jobStatus") or "")
        job = f", the job is {ray}" if ray else ""
        reason = str(self._status.get("reason") or "")
        why = f" ({reason}: {shorten(self._message, _REASON_WIDTH, placeholder=' …')})" if reason else ""
        return f"{_MARKS.get(phase, '…')} {self._title}: {phase or 'is new'}{job}{why}"

    async def _find_cluster(self) -> JsonObject | None:
        name = str(self._status.get("rayClusterName") or "")
        if not name:
            return None
        place = {"name": name, "namespace": self.job["metadata"]["namespace"]}
        return await self._session.find({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": place})

    async def _look_at_cluster(self, cluster: JsonObject) -> list[str]:
        """Raises NotReadyError when it is hopeless."""
        pods = await fetch_file_pods(self._session, [*self._followed.trees, cluster], cluster)
        if not is_said_ready(cluster):
            check_hope(cluster, pods, self._patience, self._followed.deadline)
        return [f"  {line}" for line in view_cluster(cluster, pods.of_cluster, pods.others).lines]

    async def _open_dashboard(self, cluster: JsonObject) -> ServiceDashboard | None:
        service = ((cluster.get("status") or {}).get("head") or {}).get("serviceName")
        if not service:
            return None
        token = await fetch_token(self._session, cluster)
        return ServiceDashboard(self._session.transport, cluster["metadata"]["namespace"], service, token)

    def _follow_log(self, cluster: JsonObject) -> None:
        """One reader for each job id: an attempt that is repeated has another one."""
        job_id = str(self._status.get("jobId") or "")
        if self._log is not None and self._log.done():
            self._log.result()  # a bug in the reader is not passed over
        if not job_id or job_id == self._log_of:
            return
        if self._log is not None:
            self._log.cancel()
        self._log_of = job_id
        self._log = asyncio.create_task(self._read_log(cluster, job_id))

    async def _read_log(self, cluster: JsonObject, job_id: str) -> None:
        """Until the job is over. Its end is asked for beside the stream: the last words must come before the cluster,
        which may go at once, is gone."""
        dashboard = await self._open_dashboard(cluster)
        if dashboard is None:
            return
        self._told = 0
        await _ask_until(dashboard, job_id, lambda _info: True)  # one that Ray has not heard of yet is waited for
        reader = asyncio.create_task(self._stream_log(dashboard, job_id))
        try:
            info = await _ask_until(dashboard, job_id, lambda info: info.is_over)
            rest = await dashboard.fetch_logs(job_id)
        except ApiError:
            return  # the status tells the end: the cluster may be gone by now
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
        self._say(rest[self._told :])
        self._exit_code = info.exit_code

    async def _stream_log(self, dashboard: RayDashboard, job_id: str) -> None:
        async for text in follow_logs(dashboard, job_id):
            self._say(text)

    def _say(self, text: str) -> None:
        if text:
            self._told += len(text)
            self._show.words(text)

    async def _end(self) -> int:
        if self._log is not None:
            await asyncio.wait([self._log], timeout=_LAST_WORDS_SECONDS)
        if self._status.get("jobStatus") == SUCCEEDED and self._status.get("jobDeploymentStatus") == Phase.COMPLETE:
            return 0
        found = _EXIT_CODE.search(str(self._status.get("message") or ""))
        told = int(found[1]) if found else 0
        return self._exit_code or told or 1


async def _ask_until(dashboard: RayDashboard, job_id: str, test: Callable[[JobInfo], bool]) -> JobInfo:
    """Whoever follows the RayJob ends the wait for a dashboard that says nothing any more."""
    while True:
        try:
            info = await dashboard.fetch_job(job_id)
        except ApiError:
            await asyncio.sleep(_POLL_SECONDS)
            continue
        if test(info):
            return info
        await asyncio.sleep(_POLL_SECONDS)
