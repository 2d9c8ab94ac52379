"""The lease on the real API handlers, in virtual time: one leader, at most, whatever the wire does."""

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.errors import FencedError
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.leading import lead
from heliostat.runtime.lease import LEASE, LeaseHolder
from heliostat.runtime.lease_decisions import LeaseSettings
from heliostat.testing.virtual_time import run_virtual
from runtime.small_api import NOON, SmallApi, Wire, small_api

CONFIG_MAP = ResourceType("v1", "ConfigMap", "configmaps")
LEASE_SECONDS, RENEW_DEADLINE, RETRY, REQUEST = 15.0, 10.0, 2.0, 4.0


def now() -> float:
    return asyncio.get_running_loop().time()


class Candidate:
    """One that wants to lead; it remembers when it began."""

    def __init__(self, api: SmallApi, name: str) -> None:
        clock = asyncio.get_running_loop().time
        self.name = name
        self.wire: Wire = api.wire()
        self.fence = LeaseFence(clock)
        self.problems: list[str] = []
        self.began: list[float] = []
        self.ended: list[str] = []
        self.holder = LeaseHolder(
            api.client(self.wire),
            LeaseSettings(namespace="default", name="operator", identity=name),
            self.fence,
            clock=clock,
            wall_clock=lambda: NOON + clock(),
            chance=lambda: 0.0,
            on_problem=lambda what, error: self.problems.append(f"{what}: {error}"),
        )
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            self.ended.append(await self.holder.run(lambda: self.began.append(now())))

    def crash(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        self.crash()
        await self.holder.release()


async def read_spec(api: SmallApi) -> dict[str, Any]:
    spec: dict[str, Any] = (await api.read(LEASE, "default", "operator"))["spec"]
    return spec


def test_the_first_one_creates_the_lease_and_leads_after_the_request_deadline() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one = Candidate(api, "one")
            one.start()
            await asyncio.sleep(REQUEST - 0.1)
            with pytest.raises(FencedError, match="nobody has made us the leader"):
                one.fence.check()
            await asyncio.sleep(0.2)
            one.fence.check()
            assert one.began == [REQUEST]
            assert await read_spec(api) == {
                "holderIdentity": "one",
                "leaseDurationSeconds": 15,
                "acquireTime": "2027-01-15T08:00:00.000000Z",
                "renewTime": "2027-01-15T08:00:04.000000Z",
                "leaseTransitions": 0,
            }
            one.crash()

    run_virtual(scenario())


def test_a_crashed_leader_is_followed_when_its_lease_has_expired() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one, two = Candidate(api, "one"), Candidate(api, "two")
            one.start()
            await asyncio.sleep(10)
            two.start()
            await asyncio.sleep(20)
            one.crash()
            crashed = now()
            await asyncio.sleep(LEASE_SECONDS + 5)
            assert len(two.began) == 1
            assert LEASE_SECONDS - RETRY <= two.began[0] - crashed <= LEASE_SECONDS + RETRY
            assert (await read_spec(api))["leaseTransitions"] == 1
            two.crash()

    run_virtual(scenario())


def test_a_lease_given_back_is_taken_soon_but_not_before_the_last_writes_have_landed() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one, two = Candidate(api, "one"), Candidate(api, "two")
            one.start()
            await asyncio.sleep(10)
            two.start()
            await asyncio.sleep(11)
            await one.stop()
            released = now()
            assert not one.fence.is_open
            spec = await read_spec(api)
            assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
            await asyncio.sleep(10)
            assert released + REQUEST <= two.began[0] <= released + REQUEST + RETRY
            two.crash()

    run_virtual(scenario())


def test_the_fence_of_a_leader_that_is_cut_off_closes_before_anybody_else_leads() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one, two = Candidate(api, "one"), Candidate(api, "two")
            one.start()
            two.start()
            await asyncio.sleep(9)
            one.wire.is_cut = True
            renewed = 8.0
            await asyncio.sleep(renewed + RENEW_DEADLINE - 0.1 - now())
            one.fence.check()
            await asyncio.sleep(0.2)
            with pytest.raises(FencedError, match="not renewed for 10"):
                one.fence.check()
            await asyncio.sleep(20)
            assert two.began[0] >= renewed + LEASE_SECONDS
            assert "cut" in one.problems[0]
            assert one.ended == ["the lease was not renewed for 10.0 s"]
            one.crash()
            two.crash()

    run_virtual(scenario())


def test_a_renewal_counts_from_when_it_was_sent() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one = Candidate(api, "one")
            one.start()
            await asyncio.sleep(9)
            one.wire.delay_back = 3.0  # the renewal of second 10 is answered at 13
            await asyncio.sleep(4.5)
            one.wire.is_cut = True
            assert one.fence.seconds_left == pytest.approx(10 + RENEW_DEADLINE - now())
            one.crash()

    run_virtual(scenario())


def test_an_attempt_whose_answer_was_lost_is_found_again() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one = Candidate(api, "one")
            one.wire.loses_answers = True
            one.start()
            await asyncio.sleep(5)
            assert one.began == []
            one.wire.loses_answers = False
            await asyncio.sleep(10)
            assert len(one.began) == 1
            one.crash()

    run_virtual(scenario())


def test_a_lease_deleted_by_hand_and_taken_by_another_ends_the_leadership() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one = Candidate(api, "one")
            one.start()
            await asyncio.sleep(9)
            uid = (await api.read(LEASE, "default", "operator"))["metadata"]["uid"]
            await api.client().delete(LEASE, "default", "operator", uid=uid)
            two = Candidate(api, "two")
            two.start()
            await asyncio.sleep(1.1)
            assert one.ended == ["the lease is held by two"]
            assert not one.fence.is_open
            one.crash()
            two.crash()

    run_virtual(scenario())


def test_what_others_wrote_into_the_lease_stays() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one = Candidate(api, "one")
            one.start()
            await asyncio.sleep(9)
            await api.client().patch(LEASE, "default", "operator", {"metadata": {"labels": {"team": "blue"}}})
            await asyncio.sleep(5)
            tree = await api.read(LEASE, "default", "operator")
            assert tree["metadata"]["labels"] == {"team": "blue"}
            assert one.began == [REQUEST]
            assert one.ended == []
            one.crash()

    run_virtual(scenario())


def test_a_missing_namespace_is_asked_for_at_the_retry_pace() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one = Candidate(api, "one")
            one.holder.settings = LeaseSettings(namespace="nowhere", name="operator", identity="one")
            one.start()
            await asyncio.sleep(20)
            assert 'namespaces "nowhere" not found' in one.problems[0]
            assert len(one.wire.calls) <= 2 * (20 / RETRY + 1)
            one.crash()

    run_virtual(scenario())


def build_config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}}


def test_a_write_under_way_is_cancelled_when_the_lease_is_lost() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one = Candidate(api, "one")
            slow = api.wire()
            slow.delay = 3.9
            cancelled: list[float] = []

            async def work() -> None:
                client = api.client(slow, fence=one.fence)
                try:
                    for number in range(1000):
                        await client.create(CONFIG_MAP, build_config_map(f"written-{number}"))
                except asyncio.CancelledError:
                    cancelled.append(now())
                    raise

            leading = asyncio.create_task(lead(one.holder, work))
            await asyncio.sleep(9)
            thief = await api.read(LEASE, "default", "operator")
            thief["spec"]["holderIdentity"] = "thief"
            await api.client().replace(LEASE, thief)
            assert await leading == "the lease is held by thief"
            assert cancelled == [10.0]  # at the next renewal
            assert [item["metadata"]["name"] for item in await api.list(CONFIG_MAP, "default")] == ["written-0"]

    run_virtual(scenario())


def test_work_that_ends_gives_the_lease_back() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one = Candidate(api, "one")
            assert await lead(one.holder, lambda: asyncio.sleep(1.0)) is None
            assert (await read_spec(api))["holderIdentity"] == ""
            with pytest.raises(FencedError, match="given back"):
                one.fence.check()

    run_virtual(scenario())


def test_a_bug_in_the_work_is_told_and_the_lease_given_back() -> None:
    async def scenario() -> None:
        async def work() -> None:
            raise ZeroDivisionError

        async with small_api() as api:
            one = Candidate(api, "one")
            with pytest.raises(ZeroDivisionError):
                await lead(one.holder, work)
            assert (await read_spec(api))["holderIdentity"] == ""

    run_virtual(scenario())


def test_being_told_to_stop_lets_the_work_finish_its_writes_before_the_lease_goes() -> None:
    async def scenario() -> None:
        async with small_api() as api:
            one = Candidate(api, "one")
            seen: list[str] = []

            async def work() -> None:
                try:
                    await asyncio.sleep(1000)
                finally:
                    one.fence.check()
                    seen.append((await read_spec(api))["holderIdentity"])

            leading = asyncio.create_task(lead(one.holder, work))
            await asyncio.sleep(6)
            leading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leading
            assert seen == ["one"]
            assert (await read_spec(api))["holderIdentity"] == ""

    run_virtual(scenario())


FAULTS = st.lists(
    st.tuples(
        st.floats(0.0, 12.0),
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from(["cut", "heal", "lose", "slow", "slow back", "crash", "stop", "start"]),
    ),
    max_size=12,
)


async def play(api: SmallApi, faults: list[tuple[float, str, str]]) -> None:
    candidates = {name: Candidate(api, name) for name in ("one", "two", "three")}
    last_open = dict.fromkeys(candidates, -math.inf)

    async def judge() -> None:
        began = dict.fromkeys(candidates, 0)
        while True:
            for name, candidate in candidates.items():
                if len(candidate.began) > began[name]:
                    began[name] = len(candidate.began)
                    # Its own earlier leadership counts too: its writes may be under way as those of any other.
                    assert candidate.began[-1] - max(last_open.values()) >= REQUEST - 0.05, (name, now(), last_open)
            for name, candidate in candidates.items():
                if candidate.fence.is_open:
                    last_open[name] = now()
            await asyncio.sleep(0.05)

    judging = asyncio.create_task(judge())
    for candidate in candidates.values():
        candidate.start()
    for pause, name, fault in faults:
        await asyncio.sleep(pause)
        await apply_fault(candidates[name], fault)
    for candidate in candidates.values():
        await apply_fault(candidate, "heal")
        await apply_fault(candidate, "start")
    await asyncio.sleep(2 * LEASE_SECONDS + 10)
    assert sum(candidate.fence.is_open for candidate in candidates.values()) == 1
    for candidate in candidates.values():
        candidate.crash()
    judging.cancel()
    await asyncio.wait({judging})
    if not judging.cancelled():
        judging.result()


async def apply_fault(candidate: Candidate, fault: str) -> None:
    wire = candidate.wire
    match fault:
        case "cut":
            wire.is_cut = True
        case "lose":
            wire.loses_answers = True
        case "slow":
            wire.delay = 2.5
        case "slow back":
            wire.delay_back = 2.5
        case "heal":
            wire.is_cut, wire.loses_answers, wire.delay, wire.delay_back = False, False, 0.0, 0.0
        case "crash":
            candidate.crash()
        case "stop":
            await candidate.stop()
        case "start":
            candidate.crash()
            candidate.start()


@settings(max_examples=25)
@given(FAULTS)
def test_nobody_leads_before_the_writes_of_every_earlier_leader_have_landed(
    faults: list[tuple[float, str, str]],
) -> None:
    async def scenario() -> None:
        async with small_api() as api:
            await play(api, faults)

    run_virtual(scenario())
