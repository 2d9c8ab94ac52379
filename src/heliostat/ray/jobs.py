"""Jobs for ``heliostat run``: send a package, submit, follow, stop.

The dashboard's client does the work (``dashboard.py``). What it raises becomes a ``DashboardError``, which tells a
person what Ray said and the caller whether somebody answered at all.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from heliostat.ray.answers import ENDED, FAILED, STOPPED, SUCCEEDED, JobInfo
from heliostat.ray.dashboard import RayDashboard, Submission
from heliostat.ray.log_following import follow_logs
from heliostat.runtime.errors import AlreadyExistsError, ApiError, RefusedError

__all__ = ["ENDED", "FAILED", "STOPPED", "SUCCEEDED", "DashboardError", "JobInfo", "Jobs"]

T = TypeVar("T")


class DashboardError(Exception):
    """The dashboard refused, or cannot be reached; ``status`` is 0 when nothing answered, or nothing that counts."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Jobs:
    def __init__(self, dashboard: RayDashboard) -> None:
        self._dashboard = dashboard

    async def is_there(self) -> bool:
        """Whether the dashboard answers."""
        try:
            await self._dashboard.fetch_version()
        except ApiError:
            return False
        return True

    async def upload(self, name: str, content: bytes) -> None:
        """Once is enough: a package is named by its content."""
        await _told(lambda: self._dashboard.upload_package(name, content))

    async def submit(self, entrypoint: str, submission_id: str, runtime_env: dict[str, Any]) -> str:
        """The id of the job. Asked again with the same id, the one that was submitted counts."""
        metadata = {"job_submission_id": submission_id}
        submission = Submission(
            submission_id=submission_id, entrypoint=entrypoint, runtime_env=runtime_env, metadata=metadata
        )
        try:
            return await _told(lambda: self._dashboard.submit_job(submission))
        except DashboardError as error:
            if isinstance(error.__cause__, AlreadyExistsError):
                return submission_id
            raise

    async def info(self, submission_id: str) -> JobInfo:
        return await _told(lambda: self._dashboard.fetch_job(submission_id))

    async def logs(self, submission_id: str) -> str:
        """All that the job has said so far."""
        return await _told(lambda: self._dashboard.fetch_logs(submission_id))

    def follow(self, submission_id: str) -> AsyncIterator[str]:
        """What the job says, as it says it, until it is over. Raises ApiError when nobody answers any more."""
        return follow_logs(self._dashboard, submission_id)

    async def stop(self, submission_id: str) -> None:
        await _told(lambda: self._dashboard.stop_job(submission_id))


async def _told(ask: Callable[[], Awaitable[T]]) -> T:
    try:
        return await ask()
    except ApiError as error:
        raise DashboardError(error.code if isinstance(error, RefusedError) else 0, str(error)) from error
