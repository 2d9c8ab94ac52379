"""Private keys: ECDSA on P-256, as hidden PEM text wherever they are kept.

A key takes a millisecond to make, a signature a tenth of one. This module imports ``cryptography``, which costs some
start-up time: only code that signs or verifies should import it.
"""

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from heliostat.kube.hidden import Hidden


class KeyTextError(Exception):
    """The text is not a private key of the kind we make."""


def new_private_key() -> Hidden:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Hidden(pem.decode())


def read_private_key(text: Hidden) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(text.reveal().encode(), password=None)
    except (ValueError, TypeError):
        raise KeyTextError("the text is not a private key in PEM form, or it is encrypted") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise KeyTextError("the private key is not an ECDSA key on the curve P-256")
    return key
