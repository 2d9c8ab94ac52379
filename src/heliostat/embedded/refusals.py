"""Why a request is turned away, in the form of a Kubernetes Status: code, reason, message, details, causes.

Rules: one exception for every refusal of the embedded Kubernetes; the sentences are kube-apiserver's, because clients
show and compare them. A refusal is built by the code that decides and raised by the handler, so decisions stay values.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from heliostat.kube.go_text import go_json, go_quote
from heliostat.kube.jsontree import JsonObject


class Cause(Struct, frozen=True):
    """One wrong field, as in ``details.causes`` of a Status."""

    reason: str
    message: str
    field: str


class RefusedError(Exception):
    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: JsonObject | None = None,
        causes: Sequence[Cause] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details  # name, group, kind; without the causes
        self.causes = tuple(causes)
        self.warnings: tuple[str, ...] = ()  # what the client is told besides
        self.list_meta: JsonObject = {}  # a continue token to go on with, where there is one


class PlainRefusedError(RefusedError):
    """Told as plain text: kube-apiserver says it before it knows how its answers are to look."""


def unauthorized() -> RefusedError:
    """The same words for every failure: who is turned away learns nothing about why."""
    return RefusedError(401, "Unauthorized", "Unauthorized")


def bad_request(message: str) -> RefusedError:
    return RefusedError(400, "BadRequest", message)


def forbidden(resource: str, group: str, name: str, why: str) -> RefusedError:
    """403 about a resource; about a path (no resource) the message names nothing else."""
    details = _details(name=name, group=group, kind=resource)
    if not resource:
        return RefusedError(403, "Forbidden", f"forbidden: {why}", details=details)
    subject = f"{_qualified(resource, group)} {go_quote(name)}" if name else _qualified(resource, group)
    return RefusedError(403, "Forbidden", f"{subject} is forbidden: {why}", details=details)


def not_found(resource: str, group: str, name: str) -> RefusedError:
    message = f"{_qualified(resource, group)} {go_quote(name)} not found"
    return RefusedError(404, "NotFound", message, details=_details(name=name, group=group, kind=resource))


def conflict(kind: str, group: str, name: str, why: str) -> RefusedError:
    message = f"Operation cannot be fulfilled on {_qualified(kind, group)} {go_quote(name)}: {why}"
    return RefusedError(409, "Conflict", message, details=_details(name=name, group=group, kind=kind))


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> RefusedError:
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))  # each told once
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f"{_qualified(kind, group)} {go_quote(name)} is invalid: {listed}"
    details = _details(name=name, group=group, kind=kind)
    return RefusedError(422, "Invalid", message, details=details, causes=causes)


def invalid_value(field: str, value: Any, problem: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {go_json(value)}: {problem}", field)


def required_value(field: str, problem: str) -> Cause:
    return Cause("FieldValueRequired", f"Required value: {problem}" if problem else "Required value", field)


def _qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def _details(**values: str) -> JsonObject:
    return {key: value for key, value in values.items() if value}
