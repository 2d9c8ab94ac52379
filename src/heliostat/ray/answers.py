"""What Ray's dashboard answers, as values, and what each answer means in the loop's error tree. Pure.

Rules: an answer counts only when its status is a success and its body has the shape that was asked for; a JSON body of
a 5xx is no job info. What the API server says in Ray's place (a ``Status``, when Ray is reached through its service
proxy) is never taken for Ray's word: "no such service" is not "no such job". A call that changes something and is
answered with a 5xx may have been carried out.
"""

import re
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from heliostat.runtime.errors import (
    AlreadyExistsError,
    AmbiguousError,
    ApiError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    OtherAnswerError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    error_of,
)
from heliostat.runtime.transport import Call, Reply

PENDING, RUNNING, STOPPED, SUCCEEDED, FAILED = "PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED"
ENDED = frozenset((STOPPED, SUCCEEDED, FAILED))
STATUSES = frozenset((PENDING, RUNNING, *ENDED))

A = TypeVar("A")

_SHOWN = 500  # characters of a body that an error tells
_TAKEN = "Please use a different submission_id"
_NO_AGENT = "No available agent to submit job"
_AGENTS_WORD = re.compile(r"Request failed with status code (4\d\d)")  # the agent refused, and the head says 500
_NOT_REACHED = ("no endpoints available", "connection refused", "no route to host", "no such host", "not found")
_NOBODY_LISTENS = ("no endpoints available", "connection refused")
_REFUSALS: dict[int, type[RefusedError]] = {
    400: InvalidError, 401: ForbiddenError, 403: ForbiddenError, 404: NotFoundError, 405: InvalidError,
    413: InvalidError, 415: InvalidError, 422: InvalidError,
}  # fmt: skip


class JobInfo(Struct, frozen=True, kw_only=True):
    """A job as ``GET /api/jobs/ID`` tells it; times are milliseconds since the epoch, 0 or None: not yet."""

    status: str
    message: str | None = None
    entrypoint: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    submission_id: str | None = None
    job_id: str | None = None
    type: str | None = None
    error_type: str | None = None
    driver_exit_code: int | None = None
    metadata: dict[str, str] | None = None
    runtime_env: dict[str, Any] | None = None

    @property
    def is_over(self) -> bool:
        return self.status in ENDED

    @property
    def exit_code(self) -> int:
        """As a shell would tell it."""
        return 0 if self.status == SUCCEEDED else self.driver_exit_code or 1


class Deployment(Struct, frozen=True):
    status: str
    message: str = ""


class Application(Struct, frozen=True):
    status: str
    message: str = ""
    deployments: dict[str, Deployment] = {}
    deployed_app_config: dict[str, Any] | None = None  # what Serve was asked for
    last_deployed_time_s: float | None = None


class ServeDetails(Struct, frozen=True):
    """Serve's applications by name. A cluster on which Serve was never started has none."""

    applications: dict[str, Application]
    target_capacity: float | None = None


class Submitted(Struct, frozen=True):
    submission_id: str = ""
    job_id: str = ""


class Stopped(Struct, frozen=True):
    stopped: bool


class Logs(Struct, frozen=True):
    logs: str | None


class _Status(Struct):
    kind: str = ""
    apiVersion: str = ""  # noqa: N815  the API's spelling
    message: str = ""


def decode_answer(call: Call, body: bytes, shape: type[A]) -> A:
    """Raises OtherAnswerError for what has another shape; to a call that changes something that leaves all open."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        text = f"{call}: answered with something else: {error}: {_show(body)}"
        raise (AmbiguousError if call.is_write else OtherAnswerError)(text) from None


def check_job(call: Call, info: JobInfo, asked: str) -> JobInfo:
    """Raises OtherAnswerError for a job that is not the one that was asked for, or in no state that a job can have."""
    if info.status not in STATUSES:
        raise OtherAnswerError(f"{call}: a job cannot be {info.status!r}")
    told = (info.submission_id, info.job_id)
    if any(told) and asked not in told:
        raise OtherAnswerError(f"{call}: answered with the job {info.submission_id or info.job_id}")
    return info


def judge_reply(call: Call, reply: Reply, *, is_proxied: bool) -> ApiError | None:
    """The error that a reply stands for; None: it is a success."""
    if 200 <= reply.status < 300:
        return None
    text = f"{call}: {reply.status}: {_show(reply.body)}"
    if is_proxied and (words := words_of_server(reply.body)) is not None:
        return _judge_server(call, reply, words)
    if reply.status < 400:
        return OtherAnswerError(f"{text} (redirects are not followed)")
    if _TAKEN.encode() in reply.body:
        return AlreadyExistsError(409, "AlreadyExists", text)
    if reply.status == 429:
        return error_of(429, text.encode(), reply.retry_after)
    if reply.status >= 500:
        return _judge_failure(call, reply, text)
    return _REFUSALS.get(reply.status, RefusedError)(reply.status, "", text)


def _judge_failure(call: Call, reply: Reply, text: str) -> ApiError:
    refused = _AGENTS_WORD.search(reply.body.decode(errors="replace"))
    if refused is not None and call.is_write:
        code = int(refused.group(1))
        return _REFUSALS.get(code, RefusedError)(code, "", text)
    if not call.is_write or _NO_AGENT.encode() in reply.body:
        return UnavailableError(text)
    error = AmbiguousError(text)
    error.is_answer = True
    return error


def _judge_server(call: Call, reply: Reply, words: str) -> ApiError:
    """The API server speaks for itself: Ray was not reached, or nobody knows."""
    text = f"{call}: the API server answered {reply.status}: {words}"
    if reply.status in (401, 403):
        return ForbiddenError(reply.status, "Forbidden", text)
    if reply.status == 429:
        told = error_of(429, reply.body, reply.retry_after)
        return ThrottledError(text, told.retry_after if isinstance(told, ThrottledError) else 1.0)
    is_sent = reply.status >= 500 and not any(sign in words for sign in _NOT_REACHED)
    return AmbiguousError(text) if call.is_write and is_sent else UnavailableError(text)


def does_nobody_listen(words: str) -> bool:
    """Whether an error says that nothing listens where the call was sent, which is more than silence."""
    return any(sign in words.lower() for sign in _NOBODY_LISTENS)


def is_of_the_way(words: str) -> bool:
    """Whether the API server tells of its way to a Pod, and not of itself: a refusal, a store that is slow."""
    return "error trying to reach service" in words.lower() or any(sign in words.lower() for sign in _NOT_REACHED)


def words_of_server(body: bytes) -> str | None:
    """What the API server says for itself; None: the answer is from behind it."""
    try:
        status = msgspec.json.decode(body, type=_Status)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        text = body[:_SHOWN].decode(errors="replace")
        return text if text.lower().startswith("error trying to reach service") else None
    return status.message or "no reason" if status.kind == "Status" and status.apiVersion == "v1" else None


def _show(body: bytes) -> str:
    text = body[: _SHOWN * 4].decode(errors="replace").strip()
    return text if len(text) <= _SHOWN else f"…{text[-_SHOWN:]}"  # of a traceback the end tells
