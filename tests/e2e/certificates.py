"""Certificates as cert-manager's objects describe them: issued, and as the Secrets that they are kept in."""

import base64
import datetime
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

_DAY = datetime.timedelta(days=1)


class Pair(Struct, frozen=True):
    """A certificate, its key, and the certificate of whoever issued it."""

    certificate: x509.Certificate
    key: rsa.RSAPrivateKey
    issuer: x509.Certificate


def issue(wanted: dict[str, Any], authority: Pair | None, earlier: Pair | None) -> Pair:
    """By itself without an authority. A key that there is already is kept, as cert-manager does."""
    key = earlier.key if earlier else rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, wanted.get("commonName") or wanted["secretName"][:64])]
    )
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + 90 * _DAY)
        .add_extension(x509.BasicConstraints(ca=bool(wanted.get("isCA")), path_length=None), critical=True)
    )
    for extension in _build_leaf_extensions(wanted):
        builder = builder.add_extension(extension, critical=False)
    certificate = builder.sign(authority.key if authority else key, hashes.SHA256())
    return Pair(certificate, key, authority.certificate if authority else certificate)


def _build_leaf_extensions(wanted: dict[str, Any]) -> list[x509.ExtensionType]:
    if wanted.get("isCA"):
        return []
    names = [
        *(x509.DNSName(name) for name in wanted.get("dnsNames", ())),
        *(x509.IPAddress(ip_address(address)) for address in wanted.get("ipAddresses", ())),
    ]
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return [x509.SubjectAlternativeName(names), x509.ExtendedKeyUsage(usages)]


def encode_secret(name: str, pair: Pair) -> dict[str, Any]:
    files = {
        "tls.crt": pair.certificate.public_bytes(Encoding.PEM),
        "tls.key": pair.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        "ca.crt": pair.issuer.public_bytes(Encoding.PEM),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name},
        "data": {file: base64.b64encode(content).decode() for file, content in files.items()},
    }


def decode_secret(secret: dict[str, Any]) -> Pair:
    files = {file: base64.b64decode(content) for file, content in secret["data"].items()}
    key = load_pem_private_key(files["tls.key"], password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return Pair(x509.load_pem_x509_certificate(files["tls.crt"]), key, x509.load_pem_x509_certificate(files["ca.crt"]))
