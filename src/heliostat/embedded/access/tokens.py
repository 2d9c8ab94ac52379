"""Bearer tokens: what a check of one can say, and the tokens that are simply known.

Rules: a known token has 256 bits of chance and is kept only as a digest; a candidate is compared with every one of
them, in constant time, so that timing tells neither how close a guess was nor which token it was. Refusals carry a
reason for TokenReview; a request is only ever told "Unauthorized".
"""

import hmac
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.access.users import User
from heliostat.kube.hidden import Hidden

LONGEST_TOKEN = 16 * 1024  # characters; no header is longer


class Verified(Struct, frozen=True):
    """Whose token it is, and for which of the audiences asked about it is meant."""

    user: User
    audiences: tuple[str, ...]


class TokenRefused(Struct, frozen=True):
    reason: str


UNKNOWN_TOKEN = TokenRefused("invalid bearer token")

TokenVerdict: TypeAlias = Verified | TokenRefused
# A token, the audiences it must be meant for (one of them suffices), and the time.
CheckToken: TypeAlias = Callable[[str, tuple[str, ...], float], TokenVerdict]


class StaticTokens:
    """Tokens handed out when the server was set up. They are meant for this server only and do not expire."""

    def __init__(self, tokens: Iterable[tuple[Hidden, User]], audiences: tuple[str, ...]) -> None:
        self._known = tuple((_digest(token.reveal()), user) for token, user in tokens)
        self._audiences = audiences

    def check(self, token: str, audiences: tuple[str, ...], now: float) -> TokenVerdict:
        del now
        digest, owner = _digest(token), None
        for known, user in self._known:
            if hmac.compare_digest(known, digest):
                owner = user
        shared = tuple(audience for audience in audiences if audience in self._audiences)
        return Verified(owner, shared) if owner is not None and shared else UNKNOWN_TOKEN


def check_each(*checks: CheckToken) -> CheckToken:
    """One check made of several: the first that knows the token decides; otherwise the most telling refusal."""

    def check(token: str, audiences: tuple[str, ...], now: float) -> TokenVerdict:
        refusal = UNKNOWN_TOKEN
        for part in checks if 0 < len(token) <= LONGEST_TOKEN else ():
            verdict = part(token, audiences, now)
            if isinstance(verdict, Verified):
                return verdict
            refusal = refusal if verdict == UNKNOWN_TOKEN else verdict
        return refusal

    return check


def _digest(token: str) -> bytes:
    return sha256(token.encode(errors="surrogateescape")).digest()
