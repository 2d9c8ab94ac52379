"""The client of Ray's dashboard (jobs, Serve, the health of Serve's proxies), for the operator, ``run`` and tests.

Rules: each call has its deadline and a bound on its answer; redirects are not followed; the fence is asked before every
call that changes something; what comes back is a value of ``answers.py`` or an error of ``runtime/errors.py``. Nothing
is sent twice: who gets no answer asks what became of it.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.ray.answers import (
    JobInfo,
    Logs,
    ServeDetails,
    Stopped,
    Submitted,
    check_job,
    decode_answer,
    does_nobody_listen,
    is_of_the_way,
    judge_reply,
    words_of_server,
)
from heliostat.ray.ways import DIRECT_SECONDS, Way
from heliostat.runtime.client import Fence
from heliostat.runtime.errors import (
    AmbiguousError,
    ApiError,
    InvalidError,
    NotFoundError,
    OtherAnswerError,
    UnavailableError,
)
from heliostat.runtime.transport import JSON, Call, MessageTransport, Reply

TOKEN_HEADER = "x-ray-authorization"  # noqa: S105  the name of a header; Authorization is for the API server
_KIB, _MIB = 1024, 1024 * 1024
_MOST_INFO, _MOST_LIST, _MOST_LOGS, _MOST_HEALTH = 4 * _MIB, 32 * _MIB, 64 * _MIB, 4 * _KIB
_SLOWEST = 1024 * 1024  # bytes of a package that are sent in a second, also on a busy machine
_SERVE = "/api/serve/applications/"
_DECLARATIVE = (("api_type", "declarative"),)
_PACKAGE_SECONDS = 60.0
_HEALTH_SECONDS = 4.0  # shorter than what else is asked through a proxy: several silences are to be over soon


class Submission(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ``POST /api/jobs/`` takes; what is empty is left out, the entrypoint never."""

    submission_id: str
    entrypoint: str
    runtime_env: dict[str, Any] = {}
    metadata: dict[str, str] = {}
    entrypoint_num_cpus: float = 0
    entrypoint_num_gpus: float = 0
    entrypoint_memory: int = 0
    entrypoint_resources: dict[str, float] = {}


class RayDashboard:
    """``token`` is that of a cluster with ``authOptions.mode: token``."""

    def __init__(self, way: Way, *, token: str = "", fence: Fence | None = None) -> None:
        self._way = way
        self._headers = ((TOKEN_HEADER, f"Bearer {token}"),) if token else ()
        self._fence = fence

    async def fetch_version(self) -> str:
        """Of Ray; also the cheapest way to find out whether the dashboard answers."""
        call = self._call("GET", "/api/version", most=_MOST_HEALTH)
        return str(decode_answer(call, await self._send(call), dict[str, Any]).get("ray_version", ""))

    async def fetch_job(self, id_: str) -> JobInfo:
        """Raises NotFoundError only when Ray itself says that it knows no such job."""
        call = self._call("GET", _job_path(id_), most=_MOST_INFO)
        return check_job(call, decode_answer(call, await self._send(call), JobInfo), id_)

    async def list_jobs(self) -> list[JobInfo]:
        call = self._call("GET", "/api/jobs/", most=_MOST_LIST)
        try:
            return decode_answer(call, await self._send(call), list[JobInfo])
        except NotFoundError:
            return []

    async def submit_job(self, submission: Submission) -> str:
        """The id. Raises AlreadyExistsError when Ray has, or has had, a job of this id."""
        call = self._call("POST", "/api/jobs/", msgspec.json.encode(submission), most=_MOST_INFO)
        found = decode_answer(call, await self._send(call), Submitted)
        return found.submission_id or found.job_id or submission.submission_id

    async def stop_job(self, id_: str) -> bool:
        """Whether Ray stops it now; False: it was over already, as a rule."""
        call = self._call("POST", f"{_job_path(id_)}/stop", most=_MOST_HEALTH)
        return decode_answer(call, await self._send(call), Stopped).stopped

    async def delete_job(self, id_: str) -> None:
        """Forget a job that is over. One that Ray does not know is forgotten."""
        try:
            await self._send(self._call("DELETE", _job_path(id_), most=_MOST_HEALTH))
        except NotFoundError:
            return

    async def fetch_logs(self, id_: str) -> str:
        """All that the driver has written so far."""
        call = self._call("GET", f"{_job_path(id_)}/logs", most=_MOST_LOGS)
        return decode_answer(call, await self._send(call), Logs).logs or ""

    async def tail_logs(self, id_: str) -> AsyncGenerator[str, None]:
        """What the driver writes, from its first character on, as it comes; nothing where no messages can be read."""
        transport = self._way.transport
        if not isinstance(transport, MessageTransport):
            return
        call = self._call("GET", f"{_job_path(id_)}/logs/tail", most=_MOST_INFO)
        messages = await transport.listen(call, self._way.seconds)
        if isinstance(messages, Reply):
            raise judge_reply(call, messages, is_proxied=self._way.is_proxied) or OtherAnswerError(f"{call}: no stream")
        async with aclosing(messages):
            async for text in messages:
                yield text

    async def fetch_applications(self) -> ServeDetails:
        return self.read_applications(await self.fetch_applications_text())

    async def fetch_applications_text(self) -> bytes:
        """As it comes, for who has read the same before."""
        return await self._send(self._call("GET", _SERVE, query=_DECLARATIVE, most=_MOST_LIST))

    def read_applications(self, text: bytes) -> ServeDetails:
        return decode_answer(self._call("GET", _SERVE, query=_DECLARATIVE, most=_MOST_LIST), text, ServeDetails)

    async def put_applications(self, config: dict[str, Any]) -> None:
        """All of them: what the configuration does not name is deleted."""
        await self._send(self._call("PUT", _SERVE, msgspec.json.encode(config), most=_MOST_INFO))

    async def upload_package(self, name: str, content: bytes) -> None:
        """Once is enough: a package is named by its content."""
        path = f"/api/packages/gcs/{name}"
        try:
            await self._send(self._call("GET", path, most=_MOST_INFO))
        except NotFoundError:
            call = self._call("PUT", path, content, most=_MOST_INFO, content_type="application/octet-stream")
            await self._send(call, _PACKAGE_SECONDS + len(content) / _SLOWEST)

    def _call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        most: int,
        query: tuple[tuple[str, str], ...] = (),
        content_type: str = JSON,
    ) -> Call:
        return Call(
            method=method,
            path=f"{self._way.base}{path}",
            query=query,
            body=body,
            content_type=content_type,
            headers=self._headers,
            most_bytes=most,
        )

    async def _send(self, call: Call, seconds: float = 0.0) -> bytes:
        allowed = seconds or (self._way.write_seconds if call.is_write else self._way.seconds)
        if call.is_write and self._fence is not None:
            self._fence.check()
        try:
            reply = await self._way.transport.send(call, allowed)
        except AmbiguousError as error:
            if call.is_write:
                raise
            raise UnavailableError(str(error)) from None  # a read changes nothing: it is only not answered
        if len(reply.body) > call.most_bytes:
            text = f"{call}: the answer has more than {call.most_bytes} bytes"
            raise AmbiguousError(text) if call.is_write else UnavailableError(text)
        problem = judge_reply(call, reply, is_proxied=self._way.is_proxied)
        if problem is not None:
            raise problem
        return reply.body


async def is_proxy_healthy(way: Way) -> bool | None:
    """Whether the Serve proxy of a Pod takes requests: False also where nobody listens, None where it is silent.

    Raises UnavailableError where nothing was learned of it: the API server between us and the Pod is silent itself, or
    says something of itself (OtherAnswerError). Needs no token.
    """
    call = Call(method="GET", path=f"{way.base}/-/healthz", most_bytes=_MOST_HEALTH)
    try:
        reply = await way.transport.send(call, min(way.seconds, _HEALTH_SECONDS))
    except (UnavailableError, AmbiguousError) as error:
        if way.is_proxied:
            await _check_server(way, error)
            return None
        return _judge_way(str(error))
    words = words_of_server(reply.body) if way.is_proxied else None
    if words is None:
        return reply.status == 200
    if is_of_the_way(words):
        return _judge_way(words)
    raise OtherAnswerError(f"{call}: the API server answered {reply.status}: {words}")


def _judge_way(words: str) -> bool | None:
    return False if does_nobody_listen(words) else None


async def _check_server(way: Way, error: ApiError) -> None:
    """Raises unless the API server answers: then it was not its silence."""
    if isinstance(error, UnavailableError):  # not even connected
        raise error
    try:
        await way.transport.send(Call(method="GET", path="/version", most_bytes=_MOST_HEALTH), DIRECT_SECONDS)
    except (UnavailableError, AmbiguousError):
        raise UnavailableError(str(error)) from None


def _job_path(id_: str) -> str:
    """An id with a slash, or none at all, would name something else."""
    if not id_ or "/" in id_ or id_ in (".", ".."):
        raise InvalidError(400, "Invalid", f"{id_!r} is not the id of a job")
    return f"/api/jobs/{id_}"
