"""The TLS of a client: whom to trust, which name to expect, what to show.

Rules: TLS 1.2 or later; certificate and host name are verified, and only an explicit wish in the kubeconfig turns that
off, with a warning. Trust is Go's, not OpenSSL's strictest: an intermediate authority may be the root, and authorities
without a key identifier (there are many in clusters) are accepted. Keys with a password are refused, not asked for.
"""

import logging
import os
import ssl
from typing import NoReturn

from heliostat.kube.hidden import Hidden
from heliostat.runtime.connection import AccessError, Certificate

_logger = logging.getLogger(__name__)


def build_tls(server: str, authority: Hidden | None, certificate: Certificate | None, *, skip: bool) -> ssl.SSLContext:
    """``server`` is for messages."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    if skip:
        _logger.warning("%s: insecure-skip-tls-verify is set: anybody in between can read and change all", server)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _trust(context, server, authority)
    if certificate is not None:
        _show(context, server, certificate)
    return context


def _trust(context: ssl.SSLContext, server: str, authority: Hidden | None) -> None:
    if authority is None:
        context.load_default_certs()
        return
    try:
        context.load_verify_locations(cadata=authority.reveal())
    except (ssl.SSLError, ValueError):
        problem = "the certificate authority holds no PEM certificate"
        raise AccessError(server, problem, "give the CA certificate that begins with BEGIN CERTIFICATE") from None


def _show(context: ssl.SSLContext, server: str, certificate: Certificate) -> None:
    """The ssl module takes a chain from a path alone: that of a file in memory, which never touches a disk."""
    descriptor = os.memfd_create("client-certificate")
    try:
        os.write(descriptor, f"{certificate.key.reveal()}\n{certificate.chain.reveal()}\n".encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_refuse_password)
    except _EncryptedKeyError:
        fix = "write the key without one: openssl pkey -in KEY -out KEY"
        raise AccessError(server, "the client key is protected with a password", fix) from None
    except ssl.SSLError:
        problem = "the client certificate and key are not PEM texts that belong together"
        raise AccessError(server, problem, "give the certificate and its own key") from None
    finally:
        os.close(descriptor)


class _EncryptedKeyError(Exception):
    pass


def _refuse_password() -> NoReturn:
    raise _EncryptedKeyError
