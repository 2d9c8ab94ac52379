"""Credentials that are written down somewhere: a token, a name with a password, a client certificate.

Where both a token and its file are named, the file counts, because it is the one that rotates.
"""

from base64 import b64encode

from heliostat.kube.hidden import Hidden
from heliostat.runtime.connection import AccessError, Certificate, Proof, Text


class StoredCredentials:
    """``where`` says in an error whose they are."""

    def __init__(
        self,
        where: str,
        *,
        token: Text | None = None,
        password: Hidden | None = None,  # name:password
        certificate: tuple[Text, Text] | None = None,  # chain, key
    ) -> None:
        self._where = where
        self._token = token
        self._password = password
        self._certificate = certificate

    def at_once(self) -> Proof:
        return Proof(self._authorization(), self._read_certificate())

    async def fetch(self) -> Proof:
        return self.at_once()

    def refused(self, proof: Proof) -> None:
        """Files are looked at every time; there is nothing to forget."""

    async def close(self) -> None:
        pass

    def _authorization(self) -> Hidden | None:
        if self._token is not None:
            return build_bearer(self._token.read(), self._where)
        if self._password is not None:
            return Hidden("Basic " + b64encode(self._password.reveal().encode()).decode())
        return None

    def _read_certificate(self) -> Certificate | None:
        if self._certificate is None:
            return None
        chain, key = self._certificate
        return Certificate(chain.read(), key.read())


def build_bearer(token: Hidden, where: str) -> Hidden:
    """The header value of a token."""
    text = token.reveal().strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise AccessError(where, "the token is not one line of visible characters", "write the token and nothing else")
    return Hidden(f"Bearer {text}")
