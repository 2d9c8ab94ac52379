"""The file of a store: private, owned by one process, of a known format, and honest about power failures."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded.storage.stores import create, delete, drain, in_loop, pod, sqlite_disk, update
from heliostat.embedded.storage.errors import CompactedError, StoreUnusableError
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.sqlite_file import Synchronous, explain
from heliostat.embedded.storage.sqlite_journal import LEAP, SqliteJournal
from heliostat.embedded.storage.store import Store

PODS = Scope("pods")


@in_loop
async def test_the_file_is_private_in_a_private_directory_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with sqlite_disk(tmp_path / "new" / "data").open() as store:
            await create(store, pod("a"))
            directory = tmp_path / "new" / "data"
            assert directory.stat().st_mode & 0o777 == 0o700
            modes = {file.name: file.stat().st_mode & 0o777 for file in directory.iterdir()}
            assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-seal": 0o600}
    finally:
        os.umask(before)


@in_loop
async def test_a_directory_or_file_open_to_others_is_refused_with_the_remedy(tmp_path: Path) -> None:
    async with sqlite_disk(tmp_path).open():
        pass
    (tmp_path / "store.db").chmod(0o640)
    with pytest.raises(StoreUnusableError, match=r"other users can reach it.*; run: chmod 600 .*store\.db"):
        sqlite_disk(tmp_path).open()
    (tmp_path / "store.db").chmod(0o600)
    tmp_path.chmod(0o750)
    with pytest.raises(StoreUnusableError, match="run: chmod 700"):
        sqlite_disk(tmp_path).open()


@in_loop
async def test_a_second_store_in_the_same_process_is_refused(tmp_path: Path) -> None:
    async with sqlite_disk(tmp_path).open() as store:
        for _ in range(2):
            with pytest.raises(StoreUnusableError, match="is in use by another server; stop that one first"):
                sqlite_disk(tmp_path).open()
        await create(store, pod("a"))
    async with sqlite_disk(tmp_path).open() as store:
        assert store.get(pod("a")) is not None


OPEN = """
import asyncio, sys
from pathlib import Path
from heliostat.embedded.storage.errors import StoreUnusableError
from heliostat.embedded.storage.sqlite_journal import SqliteJournal
from heliostat.embedded.storage.store import Store

async def main():
    try:
        async with Store(SqliteJournal(Path(sys.argv[1]))) as store:
            print("opened at", store.revision)
    except StoreUnusableError as error:
        print(error)

asyncio.run(main())
"""


def open_in_another_process(path: Path) -> str:
    command = [sys.executable, "-c", OPEN, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@in_loop
async def test_a_second_process_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with sqlite_disk(tmp_path).open() as store:
        assert "is in use by another server" in open_in_another_process(path)
        with pytest.raises(StoreUnusableError):
            sqlite_disk(tmp_path).open()  # a refused attempt in this process must not drop our lock
        assert "is in use by another server" in open_in_another_process(path)
        await create(store, pod("a"))
    assert open_in_another_process(path) == "opened at 2"


def write_text(path: Path) -> None:
    path.write_text("hello, I am no database, but I am long enough to be asked for a header " * 3)


def make_foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE foreign_data (x)")
    connection.close()


def make_newer_format(path: Path) -> None:
    _make_own(path, "PRAGMA user_version = 2")


def lose_the_state(path: Path) -> None:
    _make_own(path, "DELETE FROM state")


def spoil_facts(path: Path) -> None:
    _make_own(path, "INSERT INTO log VALUES (2, 0, 'pods', 'default', 'a', x'c1', x'00')")


def drop_the_log(path: Path) -> None:
    _make_own(path, "DROP TABLE log")


def _make_own(path: Path, *then: str) -> None:
    assert open_in_another_process(path) == "opened at 1"
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in then:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (write_text, "is not a SQLite database; name another file"),
        (make_foreign_database, "is a SQLite database of another program"),
        (make_newer_format, "has format 2, this version of Heliostat reads format 1"),
        (lose_the_state, "is damaged"),
        (spoil_facts, "is damaged"),
        (drop_the_log, "is damaged: no such table: log; restore it from a copy"),
    ],
)
@in_loop
async def test_a_file_that_cannot_be_used_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], problem: str
) -> None:
    path = tmp_path / "store.db"
    make(path)
    path.chmod(0o600)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreUnusableError, match=problem) as caught:
            sqlite_disk(tmp_path).open()
        assert str(path) in str(caught.value)
    assert path.read_bytes() == before


@in_loop
async def test_a_file_left_empty_by_an_interrupted_start_is_used(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch(0o600)
    async with sqlite_disk(tmp_path).open() as store:
        assert (await create(store, pod("a"))).revision == 2


def rows(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    found = [revision for (revision,) in connection.execute("SELECT revision FROM log ORDER BY revision")]
    connection.close()
    return found


@in_loop
async def test_compaction_leaves_one_row_per_object_and_the_history_after_it(tmp_path: Path) -> None:
    async with sqlite_disk(tmp_path).open() as store:
        for name in "abc":
            await create(store, pod(name))
        for _ in range(3):
            await update(store, pod("a"))
        await delete(store, pod("b"))
        store.compact(7)
        await update(store, pod("c"))
    assert rows(tmp_path / "store.db") == [3, 4, 7, 8, 9]  # b and c as made, a as last changed; then history


@in_loop
async def test_the_mark_of_a_compaction_is_on_disk_before_the_first_row_goes(tmp_path: Path) -> None:
    """The other way round, a crash in between would leave a history with holes."""
    journal = SqliteJournal(tmp_path / "store.db")
    statements: list[str] = []
    async with Store(journal) as store:
        await create(store, pod("a"))
        await update(store, pod("a"))
        journal._writer._connection.set_trace_callback(lambda text: statements.append(" ".join(text.split()[:2])))
        store.compact(store.revision)
        await create(store, pod("b"))
    assert statements.index("UPDATE state") < statements.index("DELETE FROM")


@in_loop
async def test_rows_left_by_an_interrupted_compaction_go_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with sqlite_disk(tmp_path).open() as store:
        for number in range(100):
            await create(store, pod(str(number)))
            await update(store, pod(str(number)))
            await delete(store, pod(str(number)))
        await create(store, pod("kept"))
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE state SET compacted = 302")  # as if killed right after the mark
        connection.execute("DELETE FROM log WHERE revision < 100")  # and after some of the rows
    connection.close()
    async with sqlite_disk(tmp_path).open() as store:
        assert [record.key.name for record in store.page(PODS).records] == ["kept"]
        for name in "ab":
            await create(store, pod(name))
    async with sqlite_disk(tmp_path).open():
        pass
    assert rows(path) == [302, 303, 304]


def copy_as_after_a_crash(directory: Path, target: Path) -> None:
    target.mkdir(0o700)
    for file in directory.glob("store.db*"):
        shutil.copy(file, target)


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
@in_loop
async def test_a_killed_process_loses_nothing_in_either_mode(tmp_path: Path, synchronous: Synchronous) -> None:
    async with Store(SqliteJournal(tmp_path / "store.db", synchronous)) as store:
        for name in "abc":
            await create(store, pod(name))
        copy_as_after_a_crash(tmp_path, tmp_path / "crashed")
    async with sqlite_disk(tmp_path / "crashed").open() as store:
        assert (store.revision, store.compacted, store.count(PODS)) == (4, 1, 3)


@pytest.mark.parametrize("boot", ["another-boot", "unknown"])
@in_loop
async def test_after_a_power_failure_without_sync_no_revision_comes_twice(tmp_path: Path, boot: str) -> None:
    async with Store(SqliteJournal(tmp_path / "store.db", "NORMAL")) as store:
        await create(store, pod("a"))
        copy_as_after_a_crash(tmp_path, tmp_path / "crashed")
    connection = sqlite3.connect(tmp_path / "crashed" / "store.db", isolation_level=None)
    connection.execute("UPDATE state SET unsynced_boot = ?", (boot,))
    connection.close()
    for _ in range(2):  # the second start finds nothing to be wary of
        async with sqlite_disk(tmp_path / "crashed").open() as store:
            assert store.revision == store.compacted == 2 + LEAP
            assert store.get(pod("a")) is not None
            with pytest.raises(CompactedError):
                store.watch(PODS, since=3)
            assert drain(store.watch(PODS, since=store.revision)) == []


@in_loop
async def test_a_clean_stop_without_sync_needs_no_leap(tmp_path: Path) -> None:
    async with Store(SqliteJournal(tmp_path / "store.db", "NORMAL")) as store:
        await create(store, pod("a"))
    connection = sqlite3.connect(tmp_path / "store.db")
    assert connection.execute("SELECT unsynced_boot FROM state").fetchone() == ("",)
    connection.close()


@pytest.mark.parametrize(("synchronous", "level"), [("FULL", 2), ("NORMAL", 1)])
@in_loop
async def test_commits_are_synced_as_asked(tmp_path: Path, synchronous: Synchronous, level: int) -> None:
    journal = SqliteJournal(tmp_path / "store.db", synchronous)
    async with Store(journal):
        assert journal._writer._connection.execute("PRAGMA synchronous").fetchone() == (level,)
        assert journal._writer._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root every directory can be, so the answer of the system is stood in for."""
    path = tmp_path / "store.db"
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    told = explain(path, sqlite3.OperationalError("disk I/O error"))
    assert str(told) == (
        f"{path}: this user may not write into {tmp_path}, and the server must; "
        "make it writable, or name another data directory"
    )
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result((0,) * 8 + (os.ST_RDONLY, 255)))
    told = explain(path, OSError(errno.EROFS, "Read-only file system"))
    assert "its file system is mounted read-only, and the server must write there; make it writable" in str(told)


@in_loop
async def test_a_disk_without_room_is_told_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_file: int, _data: bytes, _place: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", refuse)
    with pytest.raises(StoreUnusableError, match=r"there is no room on its disk; free space there, then start again"):
        sqlite_disk(tmp_path).open()
    monkeypatch.undo()
    async with sqlite_disk(tmp_path).open() as store:
        await create(store, pod("a"))
