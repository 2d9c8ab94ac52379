"""The process that keeps the network's namespace: found again by its directory, and gone with a word."""

import asyncio
import os
from pathlib import Path

import pytest

from heliostat.embedded.node.network.holder import Holder, find_holder, start_holder
from heliostat.embedded.node.network.namespaces import NamespaceVisitor, network_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


def started(directory: Path, path: str) -> Holder:
    async def start() -> Holder:
        visitor = NamespaceVisitor()
        try:
            return await start_holder(directory, visitor, path)
        finally:
            visitor.close()

    return asyncio.run(start())


@pytest.mark.parametrize("has_sleep", [True, False])
def test_it_lives_in_a_namespace_of_its_own_until_it_is_stopped(tmp_path: Path, *, has_sleep: bool) -> None:
    holder = started(tmp_path, os.defpath if has_sleep else str(tmp_path))
    try:
        program = Path(f"/proc/{holder.pid}/cmdline").read_bytes().split(b"\0")[0]
        assert (program == b"sleep") is has_sleep
        assert network_of(holder.pid).readlink() != network_of(os.getpid()).readlink()
        assert os.getpgid(holder.pid) != os.getpgid(0)
        assert find_holder(tmp_path) == holder
    finally:
        asyncio.run(holder.stop())
    assert find_holder(tmp_path) is None
    assert not Path(f"/proc/{holder.pid}").exists()


def test_one_that_was_killed_is_not_found(tmp_path: Path) -> None:
    holder = started(tmp_path, os.defpath)
    os.kill(holder.pid, 9)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    assert find_holder(tmp_path) is None  # though nobody has collected it yet
    asyncio.run(holder.stop())


@pytest.mark.parametrize("left", ["", "1", "1 2 3", "999999999 7"])
def test_what_an_earlier_life_has_left_may_be_anything(tmp_path: Path, left: str) -> None:
    (tmp_path / "shim.pid").write_text(left)
    assert find_holder(tmp_path) is None
