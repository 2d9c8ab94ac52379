"""The journal in one SQLite file (WAL): what was acknowledged survives ``kill -9``, and with ``FULL`` a power failure.

Rules: everything is loaded when the store opens and the file is only written afterwards, by one thread, in groups. No
revision is ever given out twice: after a power failure under ``NORMAL``, when acknowledged writes may be missing,
counting goes on far above whatever was lost and history starts anew, so that every client lists again. A store that
ends before its seal, for any other reason, is refused and left as it was found.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from heliostat.embedded.storage.errors import StoreUnusableError
from heliostat.embedded.storage.journal import Refused
from heliostat.embedded.storage.records import Event
from heliostat.embedded.storage.revisions import FIRST_REVISION, Revisions
from heliostat.embedded.storage.seal import Seal, accepted_path, explain_loss, read_seal, seal_path
from heliostat.embedded.storage.sqlite_file import Synchronous, explain, open_database
from heliostat.embedded.storage.sqlite_rows import load_rows
from heliostat.embedded.storage.sqlite_writer import Compaction, GoOn, SqliteWriter, Told

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
UNKNOWN_BOOT = "unknown"  # where the kernel does not say; then the worst is assumed
LEAP = 1_000_000  # more revisions than can lie between two checkpoints, which are a few megabytes apart


class SqliteJournal:
    def __init__(self, path: Path, synchronous: Synchronous = "FULL") -> None:
        self._path = path
        self._synchronous = synchronous

    def open(self, durable: Callable[[int], None], refused: Refused, failed: Refused) -> Revisions:
        connection = open_database(self._path, FIRST_REVISION, read_seal(seal_path(self._path)))
        try:
            model, obsolete = self._load(connection)
            self._begin(connection, model)
        except StoreUnusableError:
            self._close_untouched(connection)
            raise
        except (sqlite3.Error, OSError) as error:
            connection.close()
            raise explain(self._path, error) from error
        except BaseException:  # whatever it was, the open file must not outlive the failed opening
            connection.close()
            raise
        self._durable, self._refused = durable, refused
        self._writer = SqliteWriter(connection, obsolete, Told(self._acknowledge, self._refuse, failed))
        return model

    def append(self, event: Event) -> None:
        self._writer.put(event)

    def compact(self, revision: int, obsolete: Sequence[int]) -> None:
        self._writer.put(Compaction(revision, obsolete))

    async def close(self) -> None:
        await self._writer.stop()
        self._seal.close()

    def _acknowledge(self, revision: int) -> None:
        """Here and not in the writer's thread, for which each system call is another wait for the interpreter lock."""
        with suppress(OSError):  # a seal that is behind accuses nobody
            self._seal.put(revision)
        self._durable(revision)

    def _refuse(self, cause: BaseException) -> None:
        """What was appended until now is dropped by both sides; what comes after it is numbered anew."""
        self._refused(cause)
        self._writer.put(GoOn())

    def _load(self, connection: sqlite3.Connection) -> tuple[Revisions, list[int]]:
        try:
            compacted, unsynced_boot = connection.execute("SELECT compacted, unsynced_boot FROM state").fetchone()
            model, obsolete = load_rows(connection, compacted)
        except (sqlite3.Error, msgspec.MsgspecError, TypeError, ValueError) as error:
            raise StoreUnusableError(
                str(self._path), f"is damaged: {error}", f"restore it from a copy, or start empty: rm {self._path}*"
            ) from error
        accepted, sealed = read_seal(accepted_path(self._path)), read_seal(seal_path(self._path))
        if accepted or _may_miss_writes(unsynced_boot):
            obsolete += model.compact(max(model.revision, accepted, sealed) + LEAP)
        if model.revision < sealed:
            raise explain_loss(self._path, model.revision, sealed)
        return model, obsolete

    def _begin(self, connection: sqlite3.Connection, model: Revisions) -> None:
        """Put the state on disk before anybody reads.

        The sync also covers what a killed server had written but not acknowledged, and what we are about to show.
        """
        unsynced_boot = _read_boot_id() if self._synchronous == "NORMAL" else ""
        connection.execute("UPDATE state SET compacted = ?, unsynced_boot = ?", (model.compacted, unsynced_boot))
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        self._seal = Seal(seal_path(self._path), model.revision)
        accepted_path(self._path).unlink(missing_ok=True)

    def _close_untouched(self, connection: sqlite3.Connection) -> None:
        """Closing moves the log's good part into the database and removes the rest, which somebody may want to read."""
        wal = self._path.with_name(f"{self._path.name}-wal")
        kept = wal.with_name(f"{wal.name}.kept")
        kept.unlink(missing_ok=True)
        try:
            os.link(wal, kept)
        except OSError:  # no log, or no room even for a name
            connection.close()
            return
        connection.close()
        kept.replace(wal)


def _may_miss_writes(unsynced_boot: str) -> bool:
    """Whether the machine went down while commits were not synced: asked of what the last server left."""
    return unsynced_boot != "" and (unsynced_boot == UNKNOWN_BOOT or unsynced_boot != _read_boot_id())


def _read_boot_id() -> str:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return UNKNOWN_BOOT
