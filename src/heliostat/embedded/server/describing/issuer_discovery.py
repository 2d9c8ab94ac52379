"""Where others find the keys that ServiceAccount tokens are signed with, as OpenID Connect has it.

Rules: the keys are the public ones and change only with the server; who may read them is decided by rights
(``system:service-account-issuer-discovery``), not here.
"""

from heliostat.embedded.server.errors import method_not_allowed
from heliostat.embedded.server.messages import Answer, Request, Response
from heliostat.kube.jsontree import JsonObject, encode_json

CONFIGURATION = "/.well-known/openid-configuration"
KEYS = "/openid/v1/jwks"
_CACHED = (("Cache-Control", "public, max-age=3600"),)


class IssuerDiscovery:
    def __init__(self, issuer: str, key_set: JsonObject) -> None:
        self._issuer = issuer
        self._keys = encode_json(key_set)
        self._algorithms = sorted({key["alg"] for key in key_set["keys"]})

    async def handle(self, request: Request) -> Answer | None:
        path = request.path.removesuffix("/")
        if path not in (CONFIGURATION, KEYS):
            return None
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        if path == KEYS:
            return Response(200, self._keys, "application/jwk-set+json", headers=_CACHED)
        host = request.headers.get("host", "127.0.0.1")
        return Response(200, encode_json(self._build_configuration(host)), headers=_CACHED)

    def _build_configuration(self, host: str) -> JsonObject:
        """The keys are where the client found this: it may know us by another address than we do."""
        return {
            "issuer": self._issuer,
            "jwks_uri": f"https://{host}{KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": self._algorithms,
        }
