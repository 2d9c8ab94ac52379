"""The certificate authority of the API server and what it signs.

Rules: the authority signs servers and clients directly, and nothing below it may sign; a server certificate is good for
servers only, a client certificate for clients only; the user is the common name, the groups are the organizations; a
certificate is due for renewal when a third of its life is left. Nothing here touches a file or asks for the time.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from heliostat.embedded.access.private_keys import new_private_key, read_private_key
from heliostat.embedded.networks import SERVER_ADDRESS
from heliostat.kube.hidden import Hidden

DAY = 24 * 3600.0
AUTHORITY_LIFE = 3650 * DAY
LEAF_LIFE = 365 * DAY
CLOCK_SKEW = 300.0  # how far behind ours a client's clock may be
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
    SERVER_ADDRESS,
)
_AUTHORITY_NAME = "heliostat-ca"
_SERVER_NAME = "heliostat-apiserver"
_LONGEST_NAME = 64  # characters of a common name or organization, by X.509


class Credential(Struct, frozen=True):
    """A certificate and its private key, both PEM."""

    certificate: str
    key: Hidden


class CertificateError(Exception):
    """A name that no certificate can carry, or a text that is no certificate."""


def build_authority(now: float, life: float = AUTHORITY_LIFE) -> Credential:
    """A new authority, trusted by whoever is handed its certificate."""
    key = new_private_key()
    subject = _distinguished_name(_AUTHORITY_NAME)
    extensions = [
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (_key_usage(signs_certificates=True), True),
    ]
    return _sign(subject, key, subject, key, extensions, now, life)


def build_server_certificate(
    authority: Credential, now: float, extra_names: Iterable[str] = (), life: float = LEAF_LIFE
) -> Credential:
    """For the standard names of an API server and ``extra_names``, host names or addresses."""
    names = x509.SubjectAlternativeName([_general_name(name) for name in server_names(extra_names)])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    return _issue(authority, _distinguished_name(_SERVER_NAME), [(usage, False), (names, False)], now, life)


def build_client_certificate(
    authority: Credential, user: str, groups: Sequence[str], now: float, life: float = LEAF_LIFE
) -> Credential:
    """Whoever holds it is ``user`` in ``groups`` until it expires: nothing revokes it, so keep lives short."""
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    return _issue(authority, _distinguished_name(user, groups), [(usage, False)], now, life)


def server_names(extra: Iterable[str] = ()) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*SERVER_NAMES, *extra)))


def is_due(credential: Credential, now: float) -> bool:
    """Whether it should be made anew: a third of its life is left, or it is not valid yet."""
    begin, end = _validity(credential)
    return now < begin or end - now <= (end - begin) / 3


def is_from_the_future(credential: Credential, now: float) -> bool:
    return now < _validity(credential)[0]


def has_expired(credential: Credential, now: float) -> bool:
    return now > _validity(credential)[1]


def decide_renewal(server: Credential, authority: Credential, extra_names: Iterable[str], now: float) -> str | None:
    """Why the server certificate must be made anew, or None when it will do."""
    if is_due(server, now):
        return "two thirds of its life are over"
    certificate = read_certificate(server.certificate)
    if not _is_signed_by(certificate, read_certificate(authority.certificate)):
        return "another authority signed it"
    present = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    missing = [name for name in server_names(extra_names) if _general_name(name) not in list(present)]
    return f"it does not name {missing[0]}" if missing else None


def read_certificate(pem: str) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem.encode())
    except ValueError:
        raise CertificateError("the text is not a certificate in PEM form") from None


_Extensions = list[tuple[x509.ExtensionType, bool]]  # each with "critical"


def _issue(authority: Credential, subject: x509.Name, extensions: _Extensions, now: float, life: float) -> Credential:
    issuer = read_certificate(authority.certificate)
    issuer_key = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    leaf: _Extensions = [
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_key_usage(signs_certificates=False), True),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), False),
    ]
    life = min(life, _validity(authority)[1] - now)  # a leaf that outlives its authority would only confuse
    return _sign(subject, new_private_key(), issuer.subject, authority.key, leaf + extensions, now, life)


def _sign(
    subject: x509.Name, key: Hidden, issuer: x509.Name, signer: Hidden, extensions: _Extensions, now: float, life: float
) -> Credential:
    public = read_private_key(key).public_key()
    builder = (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.fromtimestamp(int(now - CLOCK_SKEW), UTC))
        .not_valid_after(datetime.fromtimestamp(int(now + life), UTC))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    certificate = builder.sign(read_private_key(signer), hashes.SHA256())
    return Credential(certificate.public_bytes(serialization.Encoding.PEM).decode(), key)


def _validity(credential: Credential) -> tuple[float, float]:
    certificate = read_certificate(credential.certificate)
    return certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp()


def _is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _distinguished_name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    for text in (common_name, *organizations):
        if not 1 <= len(text) <= _LONGEST_NAME:
            raise CertificateError(f"{text!r} cannot stand in a certificate: use 1 to {_LONGEST_NAME} characters")
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    if not name.isascii() or not name or any(character.isspace() for character in name):
        raise CertificateError(f"{name!r} is neither an address nor a host name in ASCII")
    return x509.DNSName(name)
