"""Secrets of type kubernetes.io/tls whose certificate and key a TLS server could not use.

Looks for the PEM blocks, in the words of Go's TLS library; what is inside them is not judged.
"""

import base64
import re
from collections.abc import Iterator

from heliostat.kube.jsontree import JsonObject

_TLS = "kubernetes.io/tls"
_BLOCK = re.compile(rb"-----BEGIN ([^\r\n]+?)-----[ \t]*\r?\n(.*?)-----END \1-----", re.DOTALL)
_CERTIFICATE, _KEY = "CERTIFICATE", "PRIVATE KEY"


def secret_cautions(secret: JsonObject) -> Iterator[str]:
    if secret.get("type") != _TLS:
        return
    data = secret.get("data") or {}
    problem = _certificate_problem(_blocks(data, "tls.crt")) or _key_problem(_blocks(data, "tls.key"))
    if problem:
        yield f"tls: {problem}"


def _blocks(data: JsonObject, name: str) -> list[str]:
    """The types of the PEM blocks under a key."""
    return [found.decode(errors="replace") for found, _body in _BLOCK.findall(base64.b64decode(data.get(name) or ""))]


def _certificate_problem(types: list[str]) -> str:
    if _CERTIFICATE in types:
        return ""
    if not types:
        return "failed to find any PEM data in certificate input"
    if len(types) == 1 and types[0].endswith(_KEY):
        return (
            "failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have"
            " been switched"
        )
    return _only_others(f'"{_CERTIFICATE}" PEM block in certificate input', types)


def _key_problem(types: list[str]) -> str:
    if any(kind == _KEY or kind.endswith(f" {_KEY}") for kind in types):
        return ""
    if not types:
        return "failed to find any PEM data in key input"
    if len(types) == 1 and types[0] == _CERTIFICATE:
        return "found a certificate rather than a key in the PEM for the private key"
    return _only_others(f'PEM block with type ending in "{_KEY}" in key input', types)


def _only_others(wanted: str, types: list[str]) -> str:
    return f"failed to find {wanted} after skipping PEM blocks of the following types: [{' '.join(types)}]"
