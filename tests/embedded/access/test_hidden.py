"""Secrets do not show: not printed, not logged, not encoded, not in tracebacks."""

import copy
import io
import logging
import pickle
import traceback
from pathlib import Path
from typing import Any

import msgspec
import pytest

from heliostat.embedded.access.authenticate import Authenticator, ClientCertificate
from heliostat.embedded.access.certificates import build_authority, build_client_certificate
from heliostat.embedded.access.identity import AUTHORITY_FILE, load_identity, new_identity
from heliostat.embedded.access.kubeconfig import build_kubeconfig
from heliostat.embedded.access.private_files import UnsafeFileError
from heliostat.embedded.access.service_account_tokens import ISSUER, BoundTo, Existing, Reference, build_claims
from heliostat.embedded.access.token_requests import Issuer
from heliostat.embedded.access.token_signing import TokenSigner, TokenVerifier
from heliostat.embedded.access.tokens import StaticTokens, check_each
from heliostat.embedded.access.users import User
from heliostat.kube.hidden import Hidden

NOW = 1_800_000_000.0
CANARY = "canary-8d1f6a"
IDENTITY = new_identity(NOW)
ADMIN = build_client_certificate(IDENTITY.authority, "admin", [], NOW)
SIGNER = TokenSigner(IDENTITY.signing_key)
CLAIMS = build_claims(BoundTo("t", Reference("robot", "u")), (ISSUER,), 3600, NOW, "id")
TOKEN = SIGNER.sign(CLAIMS)
STATIC = StaticTokens([(Hidden(CANARY), User("ann"))], ("here",))
VERIFIER = TokenVerifier([IDENTITY.signing_key], ISSUER, lambda *_place: Existing("u"))
VERIFIED = VERIFIER.check(TOKEN.reveal(), (ISSUER,), NOW)


def body_of(pem: Hidden) -> str:
    """The middle of a key, which no text may contain."""
    return pem.reveal().splitlines()[1]


SECRETS = [
    CANARY,
    TOKEN.reveal(),
    TOKEN.reveal().split(".")[2],
    *(body_of(key) for key in (IDENTITY.authority.key, IDENTITY.server.key, IDENTITY.signing_key, ADMIN.key)),
]
HOLDERS: list[Any] = [
    Hidden(CANARY),
    IDENTITY,
    IDENTITY.authority,
    ADMIN,
    build_kubeconfig("https://127.0.0.1", IDENTITY.authority.certificate, ADMIN),
    TOKEN,
    SIGNER,
    STATIC,
    VERIFIER,
    VERIFIED,
    CLAIMS,
    Issuer(SIGNER.sign, lambda: "id"),
    Authenticator(check_each(STATIC.check, VERIFIER.check), ("here",)),
    ClientCertificate("ann", (), "00", NOW),
    STATIC.check(CANARY, ("here",), NOW),
]


def assert_silent(text: str) -> None:
    assert not [secret for secret in SECRETS if secret in text]


@pytest.mark.parametrize("holder", HOLDERS, ids=lambda holder: type(holder).__name__)
def test_no_text_form_of_anything_shows_a_secret(holder: Any) -> None:
    for text in (repr(holder), str(holder), f"{holder}", "%s %r" % (holder, holder), f"{[holder]!r:>20}"):  # noqa: UP031
        assert_silent(text)
    assert_silent(repr(getattr(holder, "__dict__", "")))


def test_a_log_shows_no_secret() -> None:
    stream = io.StringIO()
    logger = logging.getLogger("canary")
    logger.addHandler(logging.StreamHandler(stream))
    for holder in HOLDERS:
        logger.error("found %s and %r", holder, holder)
    assert stream.getvalue().count("found") == len(HOLDERS)
    assert_silent(stream.getvalue())


def test_nothing_encodes_or_copies_a_secret() -> None:
    for holder in (Hidden(CANARY), ADMIN, IDENTITY):
        with pytest.raises(TypeError):
            msgspec.json.encode(holder)
        with pytest.raises(TypeError, match="not written anywhere"):
            pickle.dumps(holder)
    with pytest.raises(TypeError, match="not written anywhere"):
        copy.deepcopy(Hidden(CANARY))


def test_errors_about_damaged_secrets_do_not_quote_them(tmp_path: Path) -> None:
    load_identity(tmp_path / "pki", NOW)
    path = tmp_path / "pki" / AUTHORITY_FILE
    content = path.read_text()
    path.write_text(content.replace("END PRIVATE KEY", "END OF IT"))
    with pytest.raises(UnsafeFileError) as caught:
        load_identity(tmp_path / "pki", NOW)
    shown = "".join(traceback.format_exception(caught.value))
    assert content.splitlines()[1] not in shown


def test_refused_tokens_are_not_repeated_in_the_refusal() -> None:
    verdicts = [
        STATIC.check(CANARY, ("elsewhere",), NOW),
        VERIFIER.check(TOKEN.reveal(), ("elsewhere",), NOW),
        VERIFIER.check(TOKEN.reveal(), (ISSUER,), NOW + 1e9),
        VERIFIER.check(TOKEN.reveal() + CANARY, (ISSUER,), NOW),
    ]
    assert_silent(repr(verdicts))


def test_hidden_text_compares_without_showing() -> None:
    assert Hidden("a").matches("a")
    assert not Hidden("a").matches("b")
    assert not Hidden("a").matches("")
    assert not Hidden("é").matches("\udcc3\udca9x")
    assert Hidden("a") != Hidden("a"), "equality by value would invite comparisons that stop early"


def test_the_authoritys_key_is_nowhere_in_what_it_signs() -> None:
    authority = build_authority(NOW)
    assert_silent(build_client_certificate(authority, "x", [], NOW).certificate)
    assert body_of(authority.key) not in authority.certificate
