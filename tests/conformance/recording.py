"""What a server answered, and where the answers of the real one are kept.

A recording is a list of steps, each a JSON tree; the masked ones of a real kube-apiserver are in ``recorded/`` as
compressed JSON, one file per suite, each sequence with a digest of its requests: a sequence that was changed must be
recorded again.
"""

import gzip
import hashlib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from conformance.model import Json, Sequence

RECORDED = Path(__file__).parent / "recorded"


class Reply(Struct, frozen=True):
    """The answer to one request, or to the opening of a watch (without a body when it was granted)."""

    status: int
    content_type: str = ""
    warnings: tuple[str, ...] = ()
    body: Json = None


class WatchRead(Struct, frozen=True):
    """What a watch told, event by event."""

    events: tuple[Json, ...]
    ended: bool


class Recording(Struct, frozen=True):
    digest: str
    steps: list[Json]


def digest_of(sequence: Sequence) -> str:
    return hashlib.sha256(msgspec.json.encode(sequence, order="sorted")).hexdigest()[:12]


def save_recordings(suite: str, recordings: dict[str, Recording]) -> Path:
    """The same recordings always give the same bytes."""
    path = RECORDED / f"{suite}.json.gz"
    path.parent.mkdir(exist_ok=True)
    lines = msgspec.json.encode(recordings, order="sorted")
    path.write_bytes(gzip.compress(lines, mtime=0))
    return path


def load_recordings(suite: str) -> dict[str, Recording]:
    path = RECORDED / f"{suite}.json.gz"
    if not path.exists():
        return {}
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=dict[str, Recording])


def decode_body(body: bytes) -> Any:
    """JSON as a tree, everything else as text."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode(errors="replace")
