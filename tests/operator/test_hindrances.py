"""Which refusals a condition tells, under which reason and with which way out."""

import pytest

from heliostat.kube.plan import Action, Create, Effect
from heliostat.operator.hindrances import keep_words, list_hindrances
from heliostat.runtime.errors import (
    AlreadyExistsError,
    AmbiguousError,
    ApiError,
    ConflictError,
    EndingError,
    FencedError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ThrottledError,
    UnavailableError,
)
from heliostat.runtime.outcome import FailedAction

SERVICE = Create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "ns"}}, "Missing")
RBAC = 'services is forbidden: User "o" cannot create resource "services" in API group "" in the namespace "ns"'
QUOTA = 'services "s" is forbidden: exceeded quota: q, requested: services=1, used: services={}, limited: services=1'


def failure(error: Exception, tag: str = "", action: Action = SERVICE) -> FailedAction:
    return FailedAction(action, error, tag)


@pytest.mark.parametrize(
    ("error", "reason", "until"),
    [
        (ForbiddenError(403, "Forbidden", RBAC), "Forbidden", "the operator's role grants this right"),
        (ForbiddenError(403, "Forbidden", QUOTA.format(1)), "QuotaExceeded", "the ResourceQuota allows it"),
        (ForbiddenError(403, "Forbidden", "admission webhook denied it"), "Forbidden", "a webhook or a policy"),
        (EndingError(403, "Forbidden", "it is being terminated"), "NamespaceTerminating", "the namespace is gone"),
        (InvalidError(422, "Invalid", "spec.ports: Required value"), "Invalid", "corrected in the spec"),
        (AlreadyExistsError(409, "AlreadyExists", "it is not ours"), "NameTaken", "of this name is gone"),
        (NotFoundError(404, "NotFound", "no such resource"), "NotServed", "the server serves this kind"),
    ],
)
def test_a_refusal_says_what_was_refused_and_what_ends_it(error: Exception, reason: str, until: str) -> None:
    (found,) = list_hindrances([failure(error)])
    assert found.reason == reason
    assert found.message == f"create Service ns/s: {error}"
    assert until in found.until


@pytest.mark.parametrize(
    "error",
    [
        ConflictError(409, "Conflict", "an old view"),
        ThrottledError("busy", 1.0),
        UnavailableError("no connection"),
        AmbiguousError("no answer"),
        FencedError("not the leader"),
        ApiError("anything"),
        ValueError("a bug"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_next_attempt_may_end_is_no_hindrance(error: Exception) -> None:
    assert list_hindrances([failure(error)]) == ()


def test_what_a_replica_failure_tells_is_not_told_twice() -> None:
    assert list_hindrances([failure(ForbiddenError(403, "Forbidden", RBAC), tag="FailedCreateHeadPod")]) == ()


def test_an_effect_has_no_object_to_name() -> None:
    effect = Effect("ray", {}, "key", "Missing")
    (found,) = list_hindrances([failure(InvalidError(422, "Invalid", "no"), action=effect)])
    assert found.message == "effect: no"


def test_the_same_refusal_keeps_its_first_words() -> None:
    first = list_hindrances([failure(ForbiddenError(403, "Forbidden", QUOTA.format(1)))])
    later = list_hindrances([failure(ForbiddenError(403, "Forbidden", QUOTA.format(2)))])
    other = list_hindrances([failure(ForbiddenError(403, "Forbidden", RBAC))])
    assert keep_words(first, later) == first
    assert keep_words(first, other) == other
    assert keep_words(first, ()) == ()
