"""A write for which there is no room is answered with the reason; reads go on, and so do writes once there is room."""

import asyncio

from embedded.server.inprocess import MAPS, NOW, Client, config_map
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store


class Disk:
    """Full from some moment on."""

    is_full = False

    async def commit(self, _revision: int) -> None:
        if self.is_full:
            raise OSError(28, "No space left on device")


def test_a_write_on_a_full_disk_says_so_and_everything_else_goes_on() -> None:
    async def run() -> None:
        disk, bugs = Disk(), list[BaseException]()
        store = Store(MemoryJournal(before_commit=disk.commit))
        authority = Authority(now=lambda: NOW, new_uid=lambda: "u", random_index=lambda _below: 0)
        core = ApiCore(store, authority, lambda _user, _attributes: None, on_bug=bugs.append)
        client = Client(core)
        await core.bootstrap()
        disk.is_full = True
        status, told = await client.call("POST", MAPS, config_map())
        assert (status, told["reason"]) == (500, "InternalError")
        assert "[Errno 28] No space left on device): nothing was written, and reads go on" in told["message"]
        assert (await client.ok("GET", MAPS))["items"] == []
        disk.is_full = False
        await client.ok("POST", MAPS, config_map())
        assert bugs == []
        await store.close()

    asyncio.run(run())
