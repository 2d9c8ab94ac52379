"""An acknowledged write survives kill -9: the real server process, killed again and again in the middle of writes.

``HELIOSTAT_KILLS`` sets how often (20 here, more in longer runs).
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from testing.test_apiserver import client_context

MAPS = "/api/v1/namespaces/default/configmaps"
KILLS = int(os.environ.get("HELIOSTAT_KILLS", "20"))
WRITERS = 8
READY_SECONDS = 60.0


class Server:
    """One life of the server process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.kubeconfig = folder / "kubeconfig"
        heliostat = str(Path(sys.executable).with_name("heliostat"))
        options = ["--data", str(folder / "data"), "--port", "0", "--kubeconfig", str(self.kubeconfig)]
        command = [heliostat, "apiserver", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.address = self._wait_ready()

    def _wait_ready(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("ready: "):
                return line.removeprefix("ready: ").strip()
        raise AssertionError(f"the server ended with {self._process.wait()} before it was ready")

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(ssl=client_context(self.kubeconfig), limit=WRITERS + 2)
        return aiohttp.ClientSession(self.address, connector=connector)


class History:
    """What the server has promised."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, tuple[str, int]] = {}  # name -> payload, resourceVersion
        self.highest = 0

    def note(self, name: str, payload: str, revision: int) -> None:
        self.acknowledged[name] = (payload, revision)
        self.highest = max(self.highest, revision)


async def write_until_killed(server: Server, history: History, life: int, kill_after: int) -> None:
    """Writers create objects with known payloads; after so many replies the server dies under them."""
    before = len(history.acknowledged)

    async def write(writer: int, session: aiohttp.ClientSession) -> None:
        for number in range(10_000):
            name = f"l{life}-w{writer}-{number}"
            payload = f"{life}:{writer}:{number}"
            tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"payload": payload}}
            try:
                async with session.post(MAPS, json=tree) as answer:
                    made = await answer.json()
            except (aiohttp.ClientError, ConnectionError):
                return
            assert answer.status == 201, made
            history.note(name, payload, int(made["metadata"]["resourceVersion"]))
            if len(history.acknowledged) - before >= kill_after:
                server.kill()
                return

    async with server.session() as session:
        await asyncio.gather(*(write(writer, session) for writer in range(WRITERS)))


async def verify(server: Server, history: History, watched_from: int) -> int:
    """Everything acknowledged is there as it was written; nothing went back; a watch goes on without a gap."""
    async with server.session() as session:
        async with session.get(MAPS) as answer:
            listed = await answer.json()
        found = {item["metadata"]["name"]: item for item in listed["items"]}
        for name, (payload, revision) in history.acknowledged.items():
            assert found[name]["data"]["payload"] == payload
            assert int(found[name]["metadata"]["resourceVersion"]) == revision
        revisions = [int(item["metadata"]["resourceVersion"]) for item in found.values()]
        assert len(set(revisions)) == len(revisions)
        newest = int(listed["metadata"]["resourceVersion"])
        assert newest >= history.highest
        expected = sorted(revision for revision in revisions if revision > watched_from)
        assert await watch_revisions(session, watched_from, len(expected)) == expected
        return newest


async def watch_revisions(session: aiohttp.ClientSession, since: int, count: int) -> list[int]:
    found: list[int] = []
    query = {"watch": "1", "resourceVersion": str(since), "timeoutSeconds": "30"}
    async with session.get(MAPS, params=query) as answer:
        while len(found) < count:
            event: dict[str, Any] = json.loads(await answer.content.readline())
            assert event["type"] == "ADDED"
            found.append(int(event["object"]["metadata"]["resourceVersion"]))
    return found


@pytest.mark.slow
def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311

    async def run() -> None:
        history, newest = History(), 1
        for life in range(KILLS):
            server = Server(tmp_path)
            try:
                newest = await verify(server, history, newest)
                await write_until_killed(server, history, life, kill_after=chance.randrange(1, 120))
            finally:
                server.kill()
        server = Server(tmp_path)
        try:
            await verify(server, history, newest)
        finally:
            server.kill()
        assert len(history.acknowledged) > KILLS

    asyncio.run(run())
