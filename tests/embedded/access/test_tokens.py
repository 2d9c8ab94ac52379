"""Known bearer tokens, and checks put together."""

import hmac

import pytest

from heliostat.embedded.access.tokens import (
    LONGEST_TOKEN,
    UNKNOWN_TOKEN,
    StaticTokens,
    TokenRefused,
    TokenVerdict,
    Verified,
    check_each,
)
from heliostat.embedded.access.users import User
from heliostat.kube.hidden import Hidden

HERE = ("https://here",)
ANN, BEN = User("ann"), User("ben")
TOKENS = StaticTokens([(Hidden("token-of-ann"), ANN), (Hidden("token-of-ben"), BEN)], HERE)


@pytest.mark.parametrize(
    ("token", "verdict"),
    [
        ("token-of-ann", Verified(ANN, HERE)),
        ("token-of-ben", Verified(BEN, HERE)),
        ("token-of-", UNKNOWN_TOKEN),
        ("token-of-annx", UNKNOWN_TOKEN),
        ("TOKEN-OF-ANN", UNKNOWN_TOKEN),
        ("", UNKNOWN_TOKEN),
        ("\udcff", UNKNOWN_TOKEN),
    ],
)
def test_a_token_is_known_or_not(token: str, verdict: TokenVerdict) -> None:
    assert TOKENS.check(token, HERE, 0.0) == verdict


def test_a_known_token_is_meant_for_this_server_only() -> None:
    assert TOKENS.check("token-of-ann", ("elsewhere",), 0.0) == UNKNOWN_TOKEN
    assert TOKENS.check("token-of-ann", ("elsewhere", *HERE), 0.0) == Verified(ANN, HERE)


@pytest.mark.parametrize("token", ["token-of-ann", "token-of-ben", "unknown"])
def test_every_token_is_compared_in_constant_time_whichever_it_is(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def watched(left: bytes, right: bytes) -> bool:
        compared.append((len(left), len(right)))
        return compare(left, right)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    TOKENS.check(token, HERE, 0.0)
    assert compared == [(32, 32), (32, 32)], "digests of one length, all of them"


def test_checks_are_asked_in_turn_until_one_knows_the_token() -> None:
    asked: list[str] = []

    def first(token: str, audiences: tuple[str, ...], now: float) -> TokenVerdict:
        asked.append(f"first {now}")
        return Verified(ANN, audiences) if token == "a" else UNKNOWN_TOKEN

    def second(token: str, audiences: tuple[str, ...], now: float) -> TokenVerdict:
        asked.append(f"second {now}")
        return Verified(BEN, audiences) if token == "b" else TokenRefused("expired")

    check = check_each(first, second)
    assert check("a", HERE, 7.0) == Verified(ANN, HERE)
    assert check("b", HERE, 8.0) == Verified(BEN, HERE)
    assert check("c", HERE, 9.0) == TokenRefused("expired")
    assert check_each(second, first)("c", HERE, 9.0) == TokenRefused("expired")
    assert check_each(first)("c", HERE, 9.0) == UNKNOWN_TOKEN
    assert asked[:3] == ["first 7.0", "first 8.0", "second 8.0"]


@pytest.mark.parametrize("token", ["", "x" * (LONGEST_TOKEN + 1)])
def test_no_check_is_bothered_with_what_cannot_be_a_token(token: str) -> None:
    def explode(token: str, audiences: tuple[str, ...], now: float) -> TokenVerdict:
        raise AssertionError("asked")

    assert check_each(explode)(token, HERE, 0.0) == UNKNOWN_TOKEN
    with pytest.raises(AssertionError):
        check_each(explode)("x" * LONGEST_TOKEN, HERE, 0.0)
