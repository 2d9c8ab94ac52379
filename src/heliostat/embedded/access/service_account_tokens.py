"""ServiceAccount tokens: what they claim, and whether the claims hold.

Rules: a token names the ServiceAccount with its uid and, when bound, a Pod, Secret or Node with its uid; it is good for
its audiences, between its times, and only while all of these exist with the same uid and are not being deleted. Clocks
may differ by a minute. A token never lives longer than asked. Pure: signatures are ``token_signing``'s business, and
what exists is looked up by a function handed in.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from heliostat.embedded.access.policy_rules import quote_list
from heliostat.embedded.access.tokens import TokenRefused, TokenVerdict, Verified
from heliostat.embedded.access.users import (
    CREDENTIAL_ID,
    User,
    build_authenticated,
    service_account_groups,
    service_account_user_name,
)
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import parse_timestamp

ISSUER = "https://kubernetes.default.svc.cluster.local"
LEEWAY = 60.0
_EXTRA = "authentication.kubernetes.io/"


class Reference(Struct, frozen=True, omit_defaults=True):
    """An object by name and uid. The uid is empty for a Node that a Pod names and that does not exist."""

    name: str
    uid: str = ""


class BoundTo(Struct, frozen=True, omit_defaults=True, rename={"service_account": "serviceaccount"}):
    """What a token is bound to: the claim ``kubernetes.io``."""

    namespace: str
    service_account: Reference
    pod: Reference | None = None
    secret: Reference | None = None
    node: Reference | None = None  # bound to it, or merely where the Pod runs


class Claims(Struct, frozen=True, rename={"token_id": "jti", "bound": "kubernetes.io"}):
    aud: tuple[str, ...]
    exp: int
    iat: int
    iss: str
    nbf: int
    sub: str
    bound: BoundTo
    token_id: str = ""


class Existing(Struct, frozen=True):
    """As much of an object as decides whether a token bound to it still counts."""

    uid: str
    deleted_at: float | None = None


# Resource (serviceaccounts, pods, secrets, nodes), namespace (empty for nodes) and name; None when there is none.
Find: TypeAlias = Callable[[str, str, str], Existing | None]


def build_claims(
    bound: BoundTo, audiences: tuple[str, ...], seconds: int, now: float, token_id: str, issuer: str = ISSUER
) -> Claims:
    begin = int(now)
    subject = service_account_user_name(bound.namespace, bound.service_account.name)
    return Claims(audiences, begin + seconds, begin, issuer, begin, subject, bound, token_id)


def read_claims(tree: Any) -> Claims | None:
    """None when the tree, however well signed, is not what we sign."""
    try:
        return msgspec.convert(tree, Claims)
    except msgspec.ValidationError:
        return None


def read_existing(tree: JsonObject) -> Existing:
    deleted = tree["metadata"].get("deletionTimestamp")
    return Existing(tree["metadata"]["uid"], parse_timestamp(deleted) if deleted else None)


def decide_claims(claims: Claims, audiences: tuple[str, ...], now: float, find: Find) -> TokenVerdict:
    """Whose token it is, or why it does not count (any more)."""
    shared = tuple(audience for audience in audiences if audience in claims.aud)
    if not shared:
        wanted = f"is invalid for the target audiences {quote_list(audiences)}"
        return TokenRefused(f"token audiences {quote_list(claims.aud)} {wanted}")
    if refusal := _refuse_time(claims, now) or _refuse_bound(claims.bound, now, find):
        return refusal
    return Verified(_build_user(claims), shared)


def _refuse_time(claims: Claims, now: float) -> TokenRefused | None:
    if now > claims.exp + LEEWAY:
        return TokenRefused("service account token has expired")
    if now < claims.nbf - LEEWAY:
        return TokenRefused("service account token is not valid yet")
    if now < claims.iat - LEEWAY:
        return TokenRefused("service account token is issued in the future")
    return None


def _refuse_bound(bound: BoundTo, now: float, find: Find) -> TokenRefused | None:
    """The ServiceAccount first, then the one object the token is bound to beside it."""
    if refusal := _refuse_service_account(bound, now, find):
        return refusal
    if bound.secret is not None:
        return _refuse_object("secret", bound.namespace, bound.secret, now, find)
    if bound.pod is not None:
        return _refuse_object("pod", bound.namespace, bound.pod, now, find)
    if bound.node is not None:
        return _refuse_object("node", "", bound.node, now, find)
    return None


def _refuse_service_account(bound: BoundTo, now: float, find: Find) -> TokenRefused | None:
    claimed, namespace = bound.service_account, bound.namespace
    found = find("serviceaccounts", namespace, claimed.name)
    if found is None:
        return TokenRefused(f"serviceaccounts {go_quote(claimed.name)} not found")
    if found.uid != claimed.uid:
        return TokenRefused(f"service account UID ({found.uid}) does not match claim ({claimed.uid})")
    if _is_gone(found, now):
        return TokenRefused(f"service account {namespace}/{claimed.name} has been deleted")
    return None


def _refuse_object(kind: str, namespace: str, claimed: Reference, now: float, find: Find) -> TokenRefused | None:
    found = find(f"{kind}s", namespace, claimed.name)
    if found is None or (found.uid == claimed.uid and _is_gone(found, now)):
        return TokenRefused("service account token has been invalidated")
    if found.uid != claimed.uid:
        claim = f"does not match service account {kind} ref claim ({claimed.uid})"
        return TokenRefused(f"{kind} UID ({found.uid}) {claim}")
    return None


def _is_gone(found: Existing, now: float) -> bool:
    return found.deleted_at is not None and found.deleted_at < now - LEEWAY


def _build_user(claims: Claims) -> User:
    bound = claims.bound
    facts = {
        CREDENTIAL_ID: f"JTI={claims.token_id}" if claims.token_id else "",
        f"{_EXTRA}node-name": bound.node.name if bound.node else "",
        f"{_EXTRA}node-uid": bound.node.uid if bound.node else "",
        f"{_EXTRA}pod-name": bound.pod.name if bound.pod else "",
        f"{_EXTRA}pod-uid": bound.pod.uid if bound.pod else "",
    }
    return build_authenticated(
        service_account_user_name(bound.namespace, bound.service_account.name),
        service_account_groups(bound.namespace),
        uid=bound.service_account.uid,
        extra={key: (fact,) for key, fact in facts.items() if fact},
    )
