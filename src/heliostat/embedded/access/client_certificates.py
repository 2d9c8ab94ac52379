"""Who a client certificate names, read from the bytes the TLS connection was opened with.

Rules: TLS has already verified it against our authority; the user is the common name, the groups are the
organizations. Its end is kept, because a connection may live longer than the certificate it was opened with.
"""

from hashlib import sha256

from cryptography import x509
from cryptography.x509.oid import NameOID

from heliostat.embedded.access.authenticate import ClientCertificate


def read_client_certificate(der: bytes) -> ClientCertificate:
    """From ``ssl_object.getpeercert(binary_form=True)``. Read once per connection."""
    certificate = x509.load_der_x509_certificate(der)
    names = [str(found.value) for found in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return ClientCertificate(
        common_name=names[-1] if names else "",
        organizations=tuple(str(group.value) for group in groups),
        fingerprint=sha256(der).hexdigest(),
        not_after=certificate.not_valid_after_utc.timestamp(),
    )
