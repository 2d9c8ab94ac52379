"""Who calls: the headers that say so, and the TLS that proves it."""

import ssl
from typing import TypeAlias

from heliostat.kube.hidden import Hidden
from heliostat.runtime.client_tls import build_tls
from heliostat.runtime.connection import Certificate, Connection, Proof
from heliostat.runtime.transport import Call

_TlsParts: TypeAlias = tuple[Hidden | None, Certificate | None]  # authority, client certificate


class Caller:
    def __init__(self, connection: Connection, user_agent: str) -> None:
        self.connection = connection
        self._user_agent = user_agent
        self._tls: ssl.SSLContext | None = None
        self._tls_parts: _TlsParts | None = None

    def list_headers(self, call: Call, proof: Proof) -> list[tuple[str, str]]:
        headers = [("Accept", call.accept), ("Accept-Encoding", "identity"), ("User-Agent", self._user_agent)]
        if call.body:
            headers.append(("Content-Type", call.content_type))
        if proof.authorization is not None:
            headers.append(("Authorization", proof.authorization.reveal()))
        return [*headers, *self.connection.impersonation, *call.headers]

    def build_tls(self, certificate: Certificate | None) -> ssl.SSLContext | None:
        """A new context only when authority or certificate changed: connections are kept for each context."""
        if not self.connection.server.startswith("https:"):
            return None
        authority = self.connection.authority
        parts = (authority.read() if authority else None, certificate)
        if self._tls is None or parts != self._tls_parts:
            skip = self.connection.skip_tls_verify
            self._tls = build_tls(self.connection.server, *parts, skip=skip)
            self._tls_parts = parts
        return self._tls
