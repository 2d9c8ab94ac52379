"""TLS contexts of the API server and of clients that trust it.

Rules: TLS 1.2 or later; clients may show a certificate, and one that our authority did not sign, or that has expired,
ends the handshake; no session tickets, so every connection is verified anew. A new server certificate put into a
context in use counts from the next handshake on: rotation needs no restart.
"""

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from heliostat.embedded.access.certificates import Credential
from heliostat.embedded.access.private_files import create_private
from heliostat.kube.hidden import Hidden


def build_server_context(server: Credential, authority_certificate: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.num_tickets = 0
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    context.load_verify_locations(cadata=authority_certificate)
    install_credential(context, server)
    return context


def build_client_context(authority_certificate: str, client: Credential | None = None) -> ssl.SSLContext:
    """Trusts this authority and no other; host names are verified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=authority_certificate)
    if client is not None:
        install_credential(context, client)
    return context


def install_credential(context: ssl.SSLContext, credential: Credential) -> None:
    """Show this certificate from the next handshake on."""
    # The ssl module takes a chain from files only: one that exists for this call, in a directory of our own.
    with TemporaryDirectory(prefix="heliostat-") as directory:
        chain = Path(directory) / "chain.pem"
        create_private(chain, Hidden(credential.key.reveal() + credential.certificate))
        context.load_cert_chain(chain)
