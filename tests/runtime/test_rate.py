"""The rate that somebody allows: its moments by themselves, and through the client in virtual time."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.plan import Create
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.runtime.caches import Caches
from heliostat.runtime.client import Client, Exchange
from heliostat.runtime.errors import AmbiguousError
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.rate import Rate
from heliostat.runtime.transport import Call, Chunks, Reply
from heliostat.runtime.writing import Writing
from heliostat.testing.virtual_time import run_virtual

MAPS = ResourceType("v1", "ConfigMap", "configmaps")
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}


class Line:
    """Answers each call the same way and keeps when it came."""

    def __init__(self, *statuses: int, silence: float = 0.0) -> None:
        self.moments: list[float] = []
        self._statuses = list(statuses)
        self._silence = silence

    async def send(self, call: Call, seconds: float) -> Reply:
        self.moments.append(asyncio.get_running_loop().time())
        if self._silence:
            await asyncio.sleep(self._silence)
            raise AmbiguousError(f"{call}: no answer")
        return Reply(self._statuses.pop(0) if self._statuses else 200, b'{"metadata":{}}', "1")

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self.send(call, seconds)

    async def close(self) -> None:
        pass


@given(st.floats(0.5, 100), st.integers(1, 20), st.lists(st.floats(0, 2), min_size=1, max_size=60), st.floats(0.1, 10))
def test_in_no_stretch_of_time_are_there_more_than_the_burst_and_the_rate(
    qps: float, burst: int, pauses: list[float], stretch: float
) -> None:
    rate, now, moments = Rate(qps, burst), 0.0, []
    for pause in pauses:
        now += pause
        moments.append(now + rate.reserve(now))
    assert moments == sorted(moments)
    for first in moments:
        inside = sum(first <= moment <= first + stretch for moment in moments)
        assert inside <= burst + qps * stretch + 1e-6


def test_a_rate_lets_a_burst_through_and_spaces_the_rest() -> None:
    async def scenario() -> None:
        line = Line()
        exchanges: list[Exchange] = []
        client = Client(
            line,
            clock=asyncio.get_running_loop().time,
            rate=Rate(2.0, 3),
            request_seconds=1.0,
            observe=exchanges.append,
        )
        await asyncio.gather(*(client.get(MAPS, "ns", str(number)) for number in range(7)))
        assert line.moments == pytest.approx([0, 0, 0, 0.5, 1.0, 1.5, 2.0])
        assert [exchange.waited for exchange in exchanges] == pytest.approx(line.moments)  # and nobody gave up

    run_virtual(scenario())


def test_a_retry_waits_as_long_as_the_server_asks_and_counts() -> None:
    async def scenario() -> None:
        line = Line(429)
        client = Client(line, clock=asyncio.get_running_loop().time, rate=Rate(0.5, 1), request_seconds=4.0)
        await client.get(MAPS, "ns", "a")
        await client.get(MAPS, "ns", "b")
        assert line.moments == pytest.approx([0, 1.0, 4.0])

    run_virtual(scenario())


def test_a_write_that_waited_for_its_moment_may_land_until_its_own_deadline() -> None:
    async def scenario() -> None:
        clock = asyncio.get_running_loop().time
        client = Client(Line(silence=1.0), clock=clock, rate=Rate(0.1, 1), request_seconds=4.0)
        freshness = Freshness(Caches())
        writing = Writing(client, ResourceTypes((MAPS,)), freshness, random_bytes=bytes)
        for subject in ("first", "second"):
            with pytest.raises(AmbiguousError):
                await writing.carry_out(subject, Create(MAP, "Missing"))
        assert [freshness.unsettled(subject)[0].lands_before for subject in ("first", "second")] == [4.0, 14.0]

    run_virtual(scenario())
