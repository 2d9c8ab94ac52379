"""Ray's own job interface on the head's dashboard: send a package, submit, follow, stop.

It speaks through a ``Dashboard``, which is any way to the dashboard: the API server's service proxy, as a rule.
"""

from typing import Any, Protocol

import msgspec
from msgspec import Struct

SUCCEEDED, FAILED, STOPPED = "SUCCEEDED", "FAILED", "STOPPED"
ENDED = frozenset((SUCCEEDED, FAILED, STOPPED))


class DashboardError(Exception):
    """The dashboard refused, or cannot be reached; ``status`` is 0 when nothing answered."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Dashboard(Protocol):
    async def request(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        """Raises DashboardError for every answer that is not a success."""
        ...


class JobInfo(Struct, frozen=True):
    status: str
    message: str | None = None
    submission_id: str | None = None
    driver_exit_code: int | None = None
    error_type: str | None = None

    @property
    def is_over(self) -> bool:
        return self.status in ENDED

    @property
    def exit_code(self) -> int:
        """As a shell would tell it."""
        if self.status == SUCCEEDED:
            return 0
        return self.driver_exit_code or 1


class _Submitted(Struct):
    submission_id: str = ""
    job_id: str = ""


class _Logs(Struct):
    logs: str = ""


class Jobs:
    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard

    async def is_there(self) -> bool:
        """Whether the dashboard answers."""
        try:
            await self._dashboard.request("GET", "/api/version")
        except DashboardError:
            return False
        return True

    async def upload(self, name: str, content: bytes) -> None:
        """Once is enough: a package is named by its content."""
        path = f"/api/packages/gcs/{name}"
        try:
            await self._dashboard.request("GET", path)
        except DashboardError as error:
            if error.status != 404:
                raise
            await self._dashboard.request("PUT", path, content, "application/octet-stream")

    async def submit(self, entrypoint: str, submission_id: str, runtime_env: dict[str, Any]) -> str:
        """The id of the job. Asked again with the same id, the one that was submitted counts."""
        body = {
            "entrypoint": entrypoint,
            "submission_id": submission_id,
            "runtime_env": runtime_env,
            "metadata": {"job_submission_id": submission_id},
        }
        try:
            answer = await self._dashboard.request("POST", "/api/jobs/", msgspec.json.encode(body))
        except DashboardError as error:
            if "already exists" in str(error):
                return submission_id
            raise
        found = msgspec.json.decode(answer, type=_Submitted)
        return found.submission_id or found.job_id

    async def info(self, submission_id: str) -> JobInfo:
        return msgspec.json.decode(await self._dashboard.request("GET", f"/api/jobs/{submission_id}"), type=JobInfo)

    async def logs(self, submission_id: str) -> str:
        """All that the job has said so far."""
        answer = await self._dashboard.request("GET", f"/api/jobs/{submission_id}/logs")
        return msgspec.json.decode(answer, type=_Logs).logs

    async def stop(self, submission_id: str) -> None:
        await self._dashboard.request("POST", f"/api/jobs/{submission_id}/stop")
