"""What the operator asks of Ray for a RayJob: how is the job, take it, stop it.

What Ray has taken is remembered: a head that dies before it has told of the job takes that knowledge with it.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from heliostat.kube.objects import Key
from heliostat.kube.plan import Effect
from heliostat.operator.ray_access import Place, RayAccess
from heliostat.plan.rayjob.answers import ABSENT, JobAbsent, JobInfo
from heliostat.plan.rayjob.submission import STOP, SUBMIT
from heliostat.ray.answers import JobInfo as RayJobInfo
from heliostat.ray.dashboard import Submission
from heliostat.runtime.effects import Effects
from heliostat.runtime.errors import AlreadyExistsError, NotFoundError


class JobCalls:
    def __init__(self, access: RayAccess) -> None:
        self._access = access
        self._accepted: dict[Key, tuple[str, str]] = {}  # cluster and job id

    def register(self, effects: Effects) -> None:
        effects[SUBMIT] = self._submit
        effects[STOP] = self._stop

    def question(self, place: Place, job_id: str) -> Callable[[], Awaitable[JobInfo | JobAbsent]]:
        async def ask() -> JobInfo | JobAbsent:
            dashboard = await self._access.open(place)
            try:
                return understand(await dashboard.fetch_job(job_id))
            except NotFoundError:
                return ABSENT

        return ask

    def is_accepted(self, key: Key, cluster: str, job_id: str) -> bool:
        """By this cluster, from this process."""
        return self._accepted.get(key) == (cluster, job_id)

    def forget(self, key: Key) -> None:
        self._accepted.pop(key, None)

    async def _submit(self, effect: Effect) -> None:
        """A job of this id that Ray has already is the one: ids are ours alone, and written down before."""
        payload, dashboard = effect.payload, await self._access.open(_place_of(effect))
        submission = msgspec.convert(payload["body"], Submission, strict=False)
        with suppress(AlreadyExistsError):
            await dashboard.submit_job(submission)
        self._accepted[Key(payload["namespace"], payload["name"])] = payload["cluster"], payload["jobId"]

    async def _stop(self, effect: Effect) -> None:
        """Ray may be gone, or may never have heard of it: then there is nothing to stop."""
        dashboard = await self._access.open(_place_of(effect))
        try:
            await dashboard.stop_job(effect.payload["jobId"])
        except NotFoundError:
            return


def _place_of(effect: Effect) -> Place:
    payload = effect.payload
    return Place(payload["namespace"], payload["url"], payload["secret"])


def understand(info: RayJobInfo) -> JobInfo:
    """As the planner takes it: a time of 0 is none yet."""
    return JobInfo(
        status=info.status,
        message=info.message or "",
        entrypoint=info.entrypoint or "",
        started=info.start_time / 1000 if info.start_time else None,
        ended=info.end_time / 1000 if info.end_time else None,
    )
