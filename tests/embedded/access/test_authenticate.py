"""From credentials to a user, or to 401."""

import pytest

from heliostat.embedded.access.authenticate import (
    Authenticator,
    ClientCertificate,
    read_bearer,
)
from heliostat.embedded.access.tokens import StaticTokens
from heliostat.embedded.access.users import ANONYMOUS, User, build_authenticated, build_user_info
from heliostat.embedded.refusals import RefusedError
from heliostat.kube.hidden import Hidden

NOW = 1_800_000_000.0
HERE = ("https://here",)
ANN = build_authenticated("ann", ["ops"], uid="7")
AUTHENTICATOR = Authenticator(StaticTokens([(Hidden("secret"), ANN)], HERE).check, HERE)
CERTIFICATE = ClientCertificate("ben", ("system:masters", "devs"), "ab" * 32, NOW + 10)
BEN = User(
    "ben",
    groups=("system:masters", "devs", "system:authenticated"),
    extra={"authentication.kubernetes.io/credential-id": ("X509SHA256=" + "ab" * 32,)},
)
NOBODY = ClientCertificate("", ("system:masters",), "ab" * 32, NOW + 10)


def identify(
    certificate: ClientCertificate | None, *authorization: str, now: float = NOW, is_public: bool = False
) -> User | int:
    """The user, or the code of the refusal."""
    found = AUTHENTICATOR.identify(certificate, authorization, now, is_public=is_public)
    if isinstance(found, RefusedError):
        assert (found.reason, found.message, found.details) == ("Unauthorized", "Unauthorized", None)
        return found.code
    return found


@pytest.mark.parametrize("is_public", [True, False])
@pytest.mark.parametrize(
    ("certificate", "authorization", "user"),
    [
        (None, ["Bearer secret"], ANN),
        (None, ["bearer secret"], ANN),
        (None, ["BEARER secret"], ANN),
        (None, ["  Bearer secret "], ANN),
        (CERTIFICATE, [], BEN),
        (CERTIFICATE, ["Bearer secret"], BEN),  # the certificate wins
        (CERTIFICATE, ["Bearer wrong"], BEN),
        (None, ["Bearer wrong"], 401),
        (None, ["Bearer"], 401),
        (None, ["Bearer "], 401),
        (None, ["secret"], 401),
        (None, [""], 401),
        (None, ["Basic secret"], 401),
        (None, ["Bearer secret extra"], 401),
        (None, ["Bearer  secret"], 401),
        (None, ["Bearer\tsecret"], 401),
        (None, ["Bearer,secret"], 401),
        (None, ["Bearer secret\x00"], 401),
        (None, ["Bearer sécret"], 401),
        (None, ["Bearer secret", "Bearer secret"], 401),
        (None, ["Bearer " + "x" * 100_000], 401),
        (NOBODY, [], 401),
        (NOBODY, ["Bearer secret"], 401),
    ],
)
def test_what_is_shown_decides_wherever_it_is_shown(
    certificate: ClientCertificate | None, authorization: list[str], user: User | int, is_public: bool
) -> None:
    assert identify(certificate, *authorization, is_public=is_public) == user


def test_without_credentials_only_public_routes_are_answered() -> None:
    assert identify(None, is_public=False) == 401
    assert identify(None, is_public=True) == ANONYMOUS
    assert User("system:anonymous", groups=("system:unauthenticated",)) == ANONYMOUS


def test_a_certificate_that_ends_during_a_connection_ends_the_access() -> None:
    assert identify(CERTIFICATE, now=NOW + 10) == BEN
    assert identify(CERTIFICATE, now=NOW + 10.5) == 401


@pytest.mark.parametrize(
    ("headers", "token"), [([], None), (["Bearer a"], "a"), (["Bearer a.b-c_d~e+/="], "a.b-c_d~e+/=")]
)
def test_the_token_of_a_header(headers: list[str], token: str | None) -> None:
    assert read_bearer(headers) == token


def test_everybody_authenticated_is_in_the_group_of_all_once_and_last() -> None:
    assert build_authenticated("x", ["system:authenticated", "a"]).groups == ("a", "system:authenticated")


def test_user_info_leaves_empty_fields_out() -> None:
    assert build_user_info(User("eve")) == {"username": "eve"}
    assert build_user_info(User("eve", "3", ("g",), {"b": ("2",), "a": ("1", "0")})) == {
        "username": "eve",
        "uid": "3",
        "groups": ["g"],
        "extra": {"a": ["1", "0"], "b": ["2"]},
    }
