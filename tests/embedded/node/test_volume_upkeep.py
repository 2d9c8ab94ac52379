"""Files in volumes of running Pods: they follow their Secret, tokens are renewed in time, failures change nothing."""

import asyncio
from typing import Any

import msgspec
import pytest

from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.storage.volume_upkeep import VolumeUpkeep
from heliostat.embedded.node.storage.volumes import Sources
from heliostat.runtime.client import Client
from heliostat.runtime.transport import Call, Chunks, Reply


def build_pod(uid: str) -> NodePod:
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 1000}}
    volumes = [{"name": "s", "secret": {"secretName": "s"}}, {"name": "t", "projected": {"sources": [token]}}]
    tree = {
        "metadata": {"name": uid, "namespace": "default", "uid": uid},
        "spec": {"containers": [{"name": "c"}], "volumes": volumes},
    }
    return msgspec.convert(tree, NodePod)


class Server:
    """Of one Secret, of which it tells the version, and of tokens, which it numbers."""

    def __init__(self) -> None:
        self.version = b"b25l"
        self.tokens = 0
        self.is_well = True

    async def send(self, call: Call, seconds: float) -> Reply:
        assert seconds > 0
        if not self.is_well:
            return Reply(500, b"{}")
        if call.method == "GET":
            return Reply(200, msgspec.json.encode({"data": {"v": self.version.decode()}}))
        self.tokens += 1
        return Reply(201, msgspec.json.encode({"status": {"token": str(self.tokens)}}))

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        raise AssertionError(f"{call} within {seconds} s: nobody watches here")

    async def close(self) -> None:
        return


class World:
    def __init__(self) -> None:
        self.now = 0.0
        self.server = Server()
        self.running = {"a": "a sandbox"}
        self.filled: list[tuple[str, Any, Any]] = []
        client = Client(self.server, clock=lambda: self.now, request_seconds=1.0)
        pods = [build_pod("a"), build_pod("b")]
        self.upkeep = VolumeUpkeep(pods, self.running.get, self._fill, client, lambda: self.now)

    def look(self, now: float) -> list[tuple[str, bytes, str]]:
        """What was written: into the volumes of which Pod, which Secret and which token."""
        self.now, self.filled = now, []
        asyncio.run(self.upkeep.look())
        return self.filled

    def _fill(self, pod: NodePod, sources: Sources) -> None:
        (token,) = sources.tokens.values()
        self.filled.append((pod.metadata.uid, sources.secrets["s"]["v"], token))


def test_files_follow_their_secret_wherever_something_runs() -> None:
    world = World()
    assert world.look(0) == [("a", b"one", "1")]
    world.server.version = b"dHdv"
    assert world.look(10) == [("a", b"two", "1")]


@pytest.mark.parametrize(("age", "token"), [(10.0, "1"), (799.0, "1"), (800.0, "2"), (5000.0, "2")])
def test_a_token_has_a_successor_before_its_time_is_over(age: float, token: str) -> None:
    world = World()
    world.look(0)
    assert world.look(age) == [("a", b"one", token)]


def test_nothing_is_written_while_the_server_does_not_answer() -> None:
    world = World()
    world.look(0)
    world.server.is_well = False
    assert world.look(900) == []
    world.server.is_well = True
    assert world.look(910) == [("a", b"one", "2")]


def test_tokens_of_pods_that_ended_are_forgotten() -> None:
    world = World()
    world.look(0)
    world.running.clear()
    assert world.look(10) == []
    world.running["a"] = "another"
    assert world.look(20) == [("a", b"one", "2")]
