"""Where the next page of a list begins: a revision and the last key of the page before, as an opaque text.

A token whose revision is ``ANY`` goes on with what is there now: it is what a client gets with the refusal of a token
that compaction has made worthless.
"""

import base64
import binascii
import posixpath

import msgspec
from msgspec import Struct

from heliostat.embedded.server.documents.json_syntax import json_problem
from heliostat.embedded.server.errors import RefusedError, bad_request
from heliostat.embedded.storage.keys import Key
from heliostat.kube.jsontree import encode_json

ANY = -1
_VERSION = "meta.k8s.io/v1"


class Continue(Struct, frozen=True, rename={"version": "v", "revision": "rv"}):
    version: str = ""
    revision: int = 0
    start: str = ""


def write_continue(revision: int, after: Key) -> str:
    token = encode_json({"v": _VERSION, "rv": revision, "start": f"{after.path}\0"})
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def read_continue(token: str) -> Continue:
    data = _decode(token)
    try:
        start = msgspec.json.decode(data, type=Continue)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _refused(json_problem(data) or str(error)) from None
    if start.version != _VERSION:
        raise _refused(f"server does not recognize this encoded version {start.version}")
    if start.revision == 0:
        raise _refused(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not start.start:
        raise _refused(f"encoded start key empty (version {_VERSION})")
    rooted = f"/{start.start.removeprefix('/')}"
    if posixpath.normpath(rooted) != rooted:
        raise _refused(start.start)
    return start


def key_before(start: Continue, storage_name: str) -> Key:
    """The key that the page comes after."""
    namespace, slash, name = start.start.removesuffix("\0").rpartition("/")
    return Key(storage_name, namespace if slash else "", name)


def _decode(token: str) -> bytes:
    try:
        return binascii.a2b_base64(token.translate(_STANDARD) + "=" * (-len(token) % 4), strict_mode=True)
    except (binascii.Error, ValueError):
        bad = next((at for at, character in enumerate(token) if character not in _ALPHABET), len(token))
        raise _refused(f"illegal base64 data at input byte {bad}") from None


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_STANDARD = str.maketrans("-_+/", "+/  ")


def _refused(why: str) -> RefusedError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
