"""Refusals as kube-apiserver words them, and the Status object they become."""

from heliostat.embedded.refusals import (
    Cause,
    PlainRefusedError,
    RefusedError,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from heliostat.embedded.server.messages import Response
from heliostat.kube.jsontree import JsonObject, encode_json

__all__ = [
    "MODIFIED",
    "Cause",
    "RefusedError",
    "already_exists",
    "bad_request",
    "build_status",
    "conflict",
    "expired",
    "invalid",
    "method_not_allowed",
    "no_such_path",
    "not_found",
    "refusal_response",
    "unsupported_media_type",
]

PLAIN_TEXT = "text/plain; charset=utf-8"
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def already_exists(resource: str, group: str, name: str) -> RefusedError:
    qualified = f"{resource}.{group}" if group else resource
    details = {"name": name, "group": group, "kind": resource}
    details = {key: value for key, value in details.items() if value}
    return RefusedError(409, "AlreadyExists", f'{qualified} "{name}" already exists', details=details)


def no_such_path() -> RefusedError:
    return RefusedError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed() -> RefusedError:
    message = "the server does not allow this method on the requested resource"
    return RefusedError(405, "MethodNotAllowed", message, details={})


def unsupported_media_type(supported: tuple[str, ...]) -> RefusedError:
    offered = ", ".join(supported)
    message = f"the body of the request was in an unknown format - accepted media types include: {offered}"
    return RefusedError(415, "UnsupportedMediaType", message)


def expired(message: str) -> RefusedError:
    return RefusedError(410, "Expired", message)


def build_status(refused: RefusedError) -> JsonObject:
    details = dict(refused.details or {})
    if refused.causes:
        details["causes"] = [
            {"reason": cause.reason, "message": cause.message, **({"field": cause.field} if cause.field else {})}
            for cause in refused.causes
        ]
    status: JsonObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": refused.list_meta,
        "status": "Failure",
        "message": refused.message,
        "reason": refused.reason,
    }
    if not refused.reason:
        del status["reason"]
    if details or refused.details is not None or getattr(refused, "has_empty_details", False):
        status["details"] = details
    status["code"] = refused.code
    return status


def refusal_response(refused: RefusedError, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    if isinstance(refused, PlainRefusedError):
        return Response(refused.code, refused.message.encode(), PLAIN_TEXT, headers=headers)
    return Response(refused.code, encode_json(build_status(refused)), warnings=refused.warnings, headers=headers)
