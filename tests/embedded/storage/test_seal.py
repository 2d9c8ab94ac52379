"""A store that lost acknowledged writes says so and is left as it was found; one that was killed never does."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded.storage.stores import create, in_loop, pod, sqlite_disk
from heliostat.embedded.storage.errors import StoreUnusableError
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.sqlite_journal import LEAP, SqliteJournal
from heliostat.embedded.storage.store import Store

PODS = Scope("pods")
COUNT = 60
NEWEST = COUNT + 1  # the first write has revision 2


async def leave_killed(directory: Path) -> Path:
    """The files of a store of 60 objects whose process was killed: everything is still in the log."""
    async with sqlite_disk(directory / "alive").open() as store:
        for number in range(COUNT):
            await create(store, pod(str(number)), "." * 2000)
        (directory / "killed").mkdir(0o700)
        for file in (directory / "alive").glob("store.db*"):
            shutil.copy(file, directory / "killed")
    return directory / "killed"


def cut_the_log(directory: Path) -> None:
    wal = directory / "store.db-wal"
    with wal.open("r+b") as file:
        file.truncate(wal.stat().st_size * 95 // 100)


def spoil_the_log(directory: Path) -> None:
    wal = directory / "store.db-wal"
    with wal.open("r+b") as file:
        file.seek(wal.stat().st_size // 2)
        file.write(b"\0not what was here\0")


def remove_the_log(directory: Path) -> None:
    (directory / "store.db-wal").unlink()


def remove_the_store(directory: Path) -> None:
    for name in ("store.db", "store.db-wal"):
        (directory / name).unlink()


def contents(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.stat().st_size}


@pytest.mark.parametrize("damage", [cut_the_log, spoil_the_log, remove_the_log, remove_the_store])
@in_loop
async def test_lost_writes_are_told_and_the_files_left_as_they_are(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    directory = await leave_killed(tmp_path)
    damage(directory)
    before = contents(directory)
    for _ in range(2):
        with pytest.raises(StoreUnusableError, match=rf"changes .* are lost: .* but revision {NEWEST} was") as caught:
            sqlite_disk(directory).open()
        assert f"mv {directory}/store.db-seal {directory}/store.db-seal.accepted" in caught.value.fix
    after = contents(directory)
    assert after.get("store.db-wal") == before.get("store.db-wal")
    assert after["store.db-seal"] == before["store.db-seal"]
    assert after.keys() <= {"store.db", "store.db-wal", "store.db-seal"}


@pytest.mark.parametrize("damage", [cut_the_log, remove_the_store])
@in_loop
async def test_who_accepts_the_loss_goes_on_with_what_is_left_above_every_revision_given_out(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    directory = await leave_killed(tmp_path)
    damage(directory)
    (directory / "store.db-seal").rename(directory / "store.db-seal.accepted")
    for _ in range(2):  # the second start has nothing left to accept
        async with sqlite_disk(directory).open() as store:
            assert store.count(PODS) == (0 if damage is remove_the_store else 56)
            assert store.revision == store.compacted == NEWEST + LEAP
    assert not (directory / "store.db-seal.accepted").exists()


@in_loop
async def test_a_killed_store_is_whole_also_when_the_last_sealing_was_torn_or_had_not_happened(tmp_path: Path) -> None:
    directory = await leave_killed(tmp_path)
    seal = directory / "store.db-seal"
    for slot in (0, 12):
        torn = bytearray(seal.read_bytes())
        torn[slot] ^= 0xFF
        copy = tmp_path / f"torn-{slot}"
        shutil.copytree(directory, copy)
        (copy / seal.name).write_bytes(torn)
        async with sqlite_disk(copy).open() as store:
            assert (store.count(PODS), store.revision) == (COUNT, NEWEST)


@in_loop
async def test_a_store_without_a_seal_gets_one(tmp_path: Path) -> None:
    directory = await leave_killed(tmp_path)
    (directory / "store.db-seal").unlink()
    async with sqlite_disk(directory).open() as store:
        assert store.revision == NEWEST
    (directory / "store.db").unlink()
    with pytest.raises(StoreUnusableError, match=f"revision {NEWEST} was acknowledged"):
        sqlite_disk(directory).open()


@in_loop
async def test_a_damaged_seal_is_told(tmp_path: Path) -> None:
    directory = await leave_killed(tmp_path)
    (directory / "store.db-seal").write_bytes(b"\0" * 24)
    with pytest.raises(StoreUnusableError, match=r"store\.db-seal: is damaged, .*; restore .*, or remove this file"):
        sqlite_disk(directory).open()


@in_loop
async def test_a_hole_in_the_history_is_told(tmp_path: Path) -> None:
    async with sqlite_disk(tmp_path).open() as store:
        for number in range(9):
            await create(store, pod(str(number)))
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("DELETE FROM log WHERE revision IN (5, 6)")
    connection.close()
    with pytest.raises(StoreUnusableError, match="is damaged: changes 5 to 6 are missing"):
        sqlite_disk(tmp_path).open()


@in_loop
async def test_writes_that_a_power_failure_may_take_are_no_damage(tmp_path: Path) -> None:
    """Who chose NORMAL was told so; the seal can then be ahead of the log, and counting goes on above it."""
    async with Store(SqliteJournal(tmp_path / "store.db", "NORMAL")) as store:
        for number in range(9):
            await create(store, pod(str(number)))
        (tmp_path / "crashed").mkdir(0o700)
        for file in tmp_path.glob("store.db*"):
            shutil.copy(file, tmp_path / "crashed")
    cut_the_log(tmp_path / "crashed")
    connection = sqlite3.connect(tmp_path / "crashed" / "store.db", isolation_level=None)
    connection.execute("UPDATE state SET unsynced_boot = 'another-boot'")
    connection.close()
    async with sqlite_disk(tmp_path / "crashed").open() as store:
        assert store.count(PODS) < 9
        assert store.revision == 10 + LEAP
