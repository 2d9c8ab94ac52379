"""The signature on ServiceAccount tokens: JWTs signed with ECDSA (ES256) and nothing else.

Rules: the key is chosen by the key id, never by what the token says about its algorithm; ``none`` and shared-secret
algorithms are never accepted; several keys may verify, one signs (so keys can be rotated). A verified signature is
remembered by the token's digest, because it cannot become wrong; times and existence are asked again every time.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from hashlib import sha256

import jwt
import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from jwt.algorithms import ECAlgorithm
from jwt.types import Options

from heliostat.embedded.access.private_keys import read_private_key
from heliostat.embedded.access.service_account_tokens import Claims, Find, decide_claims, read_claims
from heliostat.embedded.access.tokens import UNKNOWN_TOKEN, TokenRefused, TokenVerdict
from heliostat.kube.hidden import Hidden
from heliostat.kube.jsontree import JsonObject

ALGORITHM = "ES256"
REMEMBERED = 4096  # verified tokens
# The library would ask the system's clock and compare only one audience; both are decided in service_account_tokens.
_SIGNATURE_ONLY: Options = {
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}


class TokenSigner:
    """Signs with one key."""

    def __init__(self, key: Hidden) -> None:
        self._key = read_private_key(key)
        self._key_id = _key_id(self._key.public_key())

    def build_key_set(self) -> JsonObject:
        """What others verify our tokens with (RFC 7517)."""
        key = {"use": "sig", "kid": self._key_id, "alg": ALGORITHM}
        return {"keys": [{**key, **ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)}]}

    def sign(self, claims: Claims) -> Hidden:
        payload = msgspec.to_builtins(claims)
        return Hidden(jwt.encode(payload, self._key, ALGORITHM, headers={"kid": self._key_id}))


class TokenVerifier:
    """Verifies with the keys it is given, the present one and perhaps earlier ones."""

    def __init__(self, keys: Iterable[Hidden], issuer: str, find: Find) -> None:
        public_keys = [read_private_key(key).public_key() for key in keys]
        self._keys = {_key_id(key): key for key in public_keys}
        self._issuer = issuer
        self._find = find
        self._verified: dict[bytes, Claims] = {}

    def check(self, token: str, audiences: tuple[str, ...], now: float) -> TokenVerdict:
        digest = sha256(token.encode(errors="surrogateescape")).digest()
        claims = self._verified.get(digest)
        if claims is None:
            found = self._read_signed(token)
            if isinstance(found, TokenRefused):
                return found
            if len(self._verified) >= REMEMBERED:
                self._verified.clear()
            claims = self._verified[digest] = found
        return decide_claims(claims, audiences, now, self._find)

    def _read_signed(self, token: str) -> Claims | TokenRefused:
        try:
            key = self._keys.get(jwt.get_unverified_header(token).get("kid", ""))
            if key is None:
                return UNKNOWN_TOKEN
            claims = read_claims(jwt.decode(token, key, [ALGORITHM], options=_SIGNATURE_ONLY))
        except (jwt.InvalidTokenError, ValueError, RecursionError):  # the last two: older releases of the library
            return UNKNOWN_TOKEN
        return claims if claims is not None and claims.iss == self._issuer else UNKNOWN_TOKEN


def _key_id(key: EllipticCurvePublicKey) -> str:
    """As kube-apiserver derives it: the digest of the public key in DER form."""
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return urlsafe_b64encode(sha256(der).digest()).rstrip(b"=").decode()
