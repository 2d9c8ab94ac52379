"""Who is asking: from a client certificate, a bearer token, or nothing.

Rules: a valid client certificate wins; otherwise the token decides; what is shown and wrong is refused even where
nothing need be shown. Without credentials only routes that the server calls public are answered, to
``system:anonymous``. Pure: TLS has verified the certificate, and the check of tokens is handed in.
"""

from collections.abc import Sequence

from msgspec import Struct

from heliostat.embedded.access.tokens import CheckToken, Verified
from heliostat.embedded.access.users import ANONYMOUS, CREDENTIAL_ID, User, build_authenticated
from heliostat.embedded.refusals import RefusedError, unauthorized


class ClientCertificate(Struct, frozen=True):
    """What a verified client certificate says."""

    common_name: str
    organizations: tuple[str, ...]
    fingerprint: str  # SHA-256 of the whole certificate, in hex
    not_after: float


class Authenticator(Struct, frozen=True):
    check_token: CheckToken
    audiences: tuple[str, ...]  # the names of this server that tokens may be meant for

    def identify(
        self, certificate: ClientCertificate | None, authorization: Sequence[str], now: float, *, is_public: bool
    ) -> User | RefusedError:
        """The user behind a request. ``authorization``: every Authorization header as it came."""
        if certificate is not None:
            return _identify_certificate(certificate, now)
        if authorization:
            return self._identify_bearer(authorization, now)
        return ANONYMOUS if is_public else unauthorized()

    def _identify_bearer(self, authorization: Sequence[str], now: float) -> User | RefusedError:
        token = read_bearer(authorization)
        if token is None:
            return unauthorized()
        verdict = self.check_token(token, self.audiences, now)
        return verdict.user if isinstance(verdict, Verified) else unauthorized()


def read_bearer(authorization: Sequence[str]) -> str | None:
    """The token of the one header that says ``Bearer <token>``; None for anything else."""
    if len(authorization) != 1:
        return None
    scheme, _, token = authorization[0].strip().partition(" ")
    if scheme.lower() != "bearer" or not token or not token.isascii() or any(map(str.isspace, token)):
        return None
    return token


def _identify_certificate(certificate: ClientCertificate, now: float) -> User | RefusedError:
    """A connection may outlive the certificate it was opened with, so its end is looked at every time."""
    if not certificate.common_name or now > certificate.not_after:
        return unauthorized()
    extra = {CREDENTIAL_ID: (f"X509SHA256={certificate.fingerprint}",)}
    return build_authenticated(certificate.common_name, certificate.organizations, extra=extra)
