"""The seal: the newest acknowledged revision, in a small file beside the store, so that lost writes are noticed.

SQLite takes a missing write-ahead log for an empty one and drops everything behind a damaged page of it without a word;
only somebody else can know how far the store had come.

Rules: a revision is sealed after its commit and before it is acknowledged, so an undamaged store is never behind its
seal, whenever the process was killed. Two slots are written in turn, each with a checksum: a torn one leaves the other.
The seal is not synced: after a power failure it may be behind the store. A store without one (of an older version, or
restored from a copy of the database alone) gets one. Who decides to go on without the lost writes renames the seal,
which keeps the number: revisions that were given out once are not given out again.
"""

import os
import struct
import zlib
from pathlib import Path

from heliostat.embedded.storage.errors import StoreUnusableError

_REVISION = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_SLOT_BYTES = _REVISION.size + _CHECKSUM.size
_SLOTS = 2


class Seal:
    """The open file. Takes only revisions that are on disk."""

    def __init__(self, path: Path, revision: int) -> None:
        """Make the file, or go on with it; the first sealing is synced, so that no later one changes its size."""
        self._slot = 0
        unfinished = path.with_name(f"{path.name}.new")
        unfinished.unlink(missing_ok=True)
        self._file = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            for _ in range(_SLOTS):
                self.put(revision)
            os.fsync(self._file)
            unfinished.replace(path)
        except BaseException:
            self.close()
            raise

    def put(self, revision: int) -> None:
        os.pwrite(self._file, _build_slot(revision), self._slot * _SLOT_BYTES)
        self._slot = (self._slot + 1) % _SLOTS

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def seal_path(store: Path) -> Path:
    return store.with_name(f"{store.name}-seal")


def accepted_path(store: Path) -> Path:
    """What the seal is renamed to by somebody who goes on without the lost writes."""
    return store.with_name(f"{store.name}-seal.accepted")


def read_seal(path: Path) -> int:
    """The newest revision that was acknowledged; 0 when nobody sealed one."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return 0
    slots = (content[start : start + _SLOT_BYTES] for start in range(0, _SLOTS * _SLOT_BYTES, _SLOT_BYTES))
    revisions = [int(_REVISION.unpack_from(slot)[0]) for slot in slots if _is_whole(slot)]
    if not revisions:
        raise StoreUnusableError(
            str(path),
            "is damaged, so nobody can tell whether the store beside it is complete",
            "restore the directory from a copy, or remove this file to use the store as it is",
        )
    return max(revisions)


def explain_loss(store: Path, revision: int, sealed: int) -> StoreUnusableError:
    """What is lost, and the two ways on."""
    wal = store.with_name(f"{store.name}-wal")
    how = "is there but damaged" if wal.exists() and wal.stat().st_size else "is missing"
    lost = f"the last {sealed - revision} changes" if sealed - revision > 1 else "the last change"
    return StoreUnusableError(
        str(store),
        f"{lost} that clients were told are saved are lost: the store ends at revision {revision}, "
        f"but revision {sealed} was acknowledged (its write-ahead log {wal.name} {how})",
        f"restore {store.name}, {wal.name} and {seal_path(store).name} from a copy made together; "
        f"or go on without these changes: mv {seal_path(store)} {accepted_path(store)}",
    )


def _build_slot(revision: int) -> bytes:
    number = _REVISION.pack(revision)
    return number + _CHECKSUM.pack(zlib.crc32(number))


def _is_whole(slot: bytes) -> bool:
    return len(slot) == _SLOT_BYTES and _CHECKSUM.unpack_from(slot, _REVISION.size)[0] == zlib.crc32(slot[:8])
