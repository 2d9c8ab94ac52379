"""What a Pod refers to is read once for steps that follow each other, and anew when it is old or was of no use."""

import asyncio

import msgspec
import pytest

from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.storage.references import RecentSources
from heliostat.runtime.client import Client
from heliostat.runtime.transport import Call, Chunks, Reply

POD = msgspec.convert(
    {
        "metadata": {"name": "p", "namespace": "default", "uid": "u"},
        "spec": {"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "settings"}}]}]},
    },
    NodePod,
)


class OneConfigMap:
    """A server whose ConfigMap tells how often it was read."""

    def __init__(self) -> None:
        self.reads = 0

    async def send(self, call: Call, seconds: float) -> Reply:
        assert (call.method, seconds > 0) == ("GET", True)
        self.reads += 1
        return Reply(200, msgspec.json.encode({"data": {"reads": str(self.reads)}}))

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        raise AssertionError(f"{call} within {seconds} s: nobody watches here")

    async def close(self) -> None:
        return


@pytest.mark.parametrize(
    ("seconds_between", "is_forgotten", "reads"),
    [(0.1, False, b"1"), (60.0, False, b"2"), (0.1, True, b"2")],
    ids=["at once", "later", "after a failure"],
)
def test_sources_are_read_again_when_they_have_to_be(seconds_between: float, is_forgotten: bool, reads: bytes) -> None:
    async def play() -> None:
        now = 0.0
        client = Client(OneConfigMap(), clock=lambda: now, request_seconds=1.0)
        sources = RecentSources(client, lambda: now)
        assert (await sources.fetch(POD)).config_maps["settings"]["reads"] == b"1"
        now = seconds_between
        if is_forgotten:
            sources.forget("u")
        assert (await sources.fetch(POD)).config_maps["settings"]["reads"] == reads

    asyncio.run(play())
