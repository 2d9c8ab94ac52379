"""What can go wrong between the loop and the API, as one tree; the loop decides by the class alone.

ApiError
├── UnavailableError         nothing was carried out: no connection, or too long in our own queue
│   ├── ThrottledError       429, or 503 in the API server's own words: come back later
│   └── OtherAnswerError     a read was answered, and not with what was asked for: somebody else's page
├── AmbiguousError           sent, and no answer or a 5xx came that leaves it open: it may have been carried out
├── RefusedError             the server answered, and said no
│   ├── NotFoundError        404
│   ├── AlreadyExistsError   409 AlreadyExists
│   ├── ConflictError        409 Conflict: decided from an older version, or another UID
│   ├── ExpiredError         410: the resourceVersion or the continue token is too old
│   ├── ForbiddenError       401, 403
│   │   └── EndingError      403: its namespace is being deleted and takes nothing new
│   └── InvalidError         400, 413, 415, 422: the same request will never be accepted
└── FencedError              not sent: the right to write is in doubt (leader election)
"""

import msgspec
from msgspec import Struct

from heliostat.kube.counts import read_count


class ApiError(Exception):
    """Base of everything the API can answer instead of a result."""

    is_answer = False  # whether somebody over there said it; else nothing came


class UnavailableError(ApiError):
    """Nothing was carried out; trying again is safe."""


class ThrottledError(UnavailableError):
    is_answer = True

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OtherAnswerError(UnavailableError):
    is_answer = True


class AmbiguousError(ApiError):
    """Sent, and no answer came: only a fresh read can tell whether it was carried out."""

    lands_before: float = 0.0  # the moment, on the client's clock, after which it cannot be carried out any more


class FencedError(ApiError):
    """Not sent: we may no longer be the leader."""


class RefusedError(ApiError):
    is_answer = True

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


class NotFoundError(RefusedError):
    pass


class AlreadyExistsError(RefusedError):
    pass


class ConflictError(RefusedError):
    pass


class ExpiredError(RefusedError):
    pass


class ForbiddenError(RefusedError):
    pass


class EndingError(ForbiddenError):
    pass


class InvalidError(RefusedError):
    pass


_BY_CODE: dict[int, type[RefusedError]] = {
    400: InvalidError,
    401: ForbiddenError,
    403: ForbiddenError,
    404: NotFoundError,
    405: InvalidError,
    406: InvalidError,
    409: ConflictError,
    410: ExpiredError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
}
_DEFAULT_RETRY_SECONDS = 1.0
_ENDING = "NamespaceTerminating"  # the cause that the API server gives


class _Cause(Struct):
    reason: str = ""


class _Details(Struct):
    retryAfterSeconds: float = 0  # noqa: N815  the API's spelling
    causes: list[_Cause] = []


class _Status(Struct):
    reason: str = ""
    message: str = ""
    details: _Details | None = None


def error_of(code: int, body: bytes, retry_after: str = "") -> ApiError:
    """The error that an answer of 400 or more stands for."""
    status = _read_status(body)
    message = status.message or body[:200].decode(errors="replace") or f"the server answered {code}"
    if code == 429 or (code == 503 and status.reason == "ServiceUnavailable"):
        told = read_count(retry_after) or (status.details and status.details.retryAfterSeconds)
        return ThrottledError(message, float(told or _DEFAULT_RETRY_SECONDS))
    if code >= 500:
        # A store that timed out answers 500 for a write that may be in its log; a proxy answers 502 for one it sent on.
        error = AmbiguousError(message)
        error.is_answer = True
        return error
    if status.reason == "AlreadyExists":
        return AlreadyExistsError(code, status.reason, message)
    if status.details is not None and any(cause.reason == _ENDING for cause in status.details.causes):
        return EndingError(code, status.reason, message)
    return _BY_CODE.get(code, RefusedError)(code, status.reason, message)


def _read_status(body: bytes) -> _Status:
    try:
        return msgspec.json.decode(body, type=_Status)
    except msgspec.MsgspecError:
        return _Status()
