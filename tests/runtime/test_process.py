"""The process around some work: how it begins, how it ends, and with which exit code."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import structs

from heliostat import __version__
from heliostat.runtime import https_transport
from heliostat.runtime.caller import Caller
from heliostat.runtime.client import Client
from heliostat.runtime.connection import Connection, Proof
from heliostat.runtime.errors import FencedError
from heliostat.runtime.health_server import METRICS, PROBES, Served
from heliostat.runtime.kubeconfig import load_connection
from heliostat.runtime.lease import LEASE
from heliostat.runtime.lease_decisions import LeaseSettings
from heliostat.runtime.lease_record import decode_lease, read_record
from heliostat.runtime.logs import Log
from heliostat.runtime.process import FAILED, STOPPED, ProcessSettings, Work, Workplace, run_process
from heliostat.runtime.transport import Call
from heliostat.testing import ApiServer, api_server_in_thread

pytestmark = pytest.mark.slow

REQUEST_SECONDS = 0.5  # how long one that works alone waits first
PATIENT_SECONDS = 4.0  # of requests that have to succeed, on a busy machine too
LEASE_SETTINGS = LeaseSettings(
    namespace="kube-system",
    name="work",
    identity="me",
    lease_seconds=15.0,
    renew_deadline_seconds=10.0,
    retry_seconds=0.2,
    request_seconds=PATIENT_SECONDS,
)
ALONE = ProcessSettings(request_seconds=REQUEST_SECONDS)
ELECTED = ProcessSettings(request_seconds=PATIENT_SECONDS, lease=LEASE_SETTINGS)
both = pytest.mark.parametrize("settings", [ALONE, ELECTED], ids=["alone", "elected"])


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server_in_thread() as running:
        yield running


def connector(kubeconfig: Path) -> Callable[[], Connection]:
    return lambda: load_connection([kubeconfig], {})


def play(
    server: ApiServer, work: Work, settings: ProcessSettings, prepare: Work | None = None
) -> tuple[int, list[str]]:
    """The exit code, and what was announced."""
    said: list[str] = []

    async def run() -> int:
        async with asyncio.timeout(60):
            connect = connector(server.kubeconfig)
            log = Log("test")
            return await run_process(connect, work, settings, log=log, announce=said.append, prepare=prepare)

    return asyncio.run(run()), said


def client_of(place: Workplace) -> Client:
    return Client(place.transport, clock=time.monotonic, request_seconds=PATIENT_SECONDS, fence=place.fence)


@both
def test_told_to_stop_the_work_ends_in_peace(server: ApiServer, settings: ProcessSettings) -> None:
    ended: list[str] = []

    async def work(place: Workplace) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await place.stop.wait()
        ended.append("in peace")

    code, said = play(server, work, settings)
    assert (code, ended) == (STOPPED, ["in peace"])
    assert said[0].startswith("health: http://127.0.0.1:")


@both
def test_work_that_fails_ends_the_process_with_an_error(
    server: ApiServer, settings: ProcessSettings, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(_place: Workplace) -> None:
        raise KeyError("a bug")

    assert play(server, work, settings)[0] == FAILED
    assert "the work failed" in caplog.text
    assert "KeyError: 'a bug'" in caplog.text


def test_the_server_hears_who_we_are_and_of_which_version(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    agents: list[str] = []

    class Heard(Caller):
        def list_headers(self, call: Call, proof: Proof) -> list[tuple[str, str]]:
            headers = super().list_headers(call, proof)
            agents.append(f"{dict(headers)['User-Agent']} {'leases' in call.path}")
            return headers

    async def work(place: Workplace) -> None:
        await client_of(place).request(Call(method="GET", path="/version"))

    monkeypatch.setattr(https_transport, "Caller", Heard)
    assert play(server, work, structs.replace(ELECTED, user_agent="tester"))[0] == STOPPED
    assert set(agents) == {f"tester/{__version__} True", f"tester/{__version__} False"}


def test_alone_the_work_waits_until_writes_of_a_dead_process_have_landed(server: ApiServer) -> None:
    begun: list[float] = []

    async def work(_place: Workplace) -> None:
        begun.append(time.monotonic())

    started = time.monotonic()
    play(server, work, ALONE)
    assert begun[0] - started >= REQUEST_SECONDS


def test_what_has_to_be_true_before_is_waited_for_without_the_lease(server: ApiServer) -> None:
    steps: list[str] = []

    async def prepare(place: Workplace) -> None:
        assert place.fence is not None
        assert not place.fence.is_open
        steps.append("prepared")

    async def work(place: Workplace) -> None:
        assert place.fence is not None
        assert place.fence.is_open
        steps.append("worked")

    assert play(server, work, ELECTED, prepare)[0] == STOPPED
    assert steps == ["prepared", "worked"]


@both
def test_told_to_stop_while_it_prepares_it_stops_in_peace(server: ApiServer, settings: ProcessSettings) -> None:
    async def prepare(_place: Workplace) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    async def work(_place: Workplace) -> None:
        raise AssertionError("nobody should work")

    assert play(server, work, settings, prepare)[0] == STOPPED


def test_each_address_is_announced_under_its_name(server: ApiServer) -> None:
    serves = (Served("metrics", pages=METRICS), Served("health", pages=PROBES))

    async def work(_place: Workplace) -> None:
        pass

    said = play(server, work, ProcessSettings(request_seconds=REQUEST_SECONDS, serves=serves))[1]
    assert [text.partition(" ")[0] for text in said] == ["metrics:", "health:"]


def test_told_to_stop_before_it_began_the_work_never_begins(server: ApiServer) -> None:
    async def work(_place: Workplace) -> None:
        raise AssertionError("nobody should work")

    async def run() -> int:
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)
        settings = ProcessSettings(request_seconds=30.0)
        connect = connector(server.kubeconfig)
        async with asyncio.timeout(20):
            return await run_process(connect, work, settings, log=Log("test"), announce=lambda _text: None)

    assert asyncio.run(run()) == STOPPED


def test_who_leads_may_write_and_gives_the_lease_back(server: ApiServer) -> None:
    async def work(place: Workplace) -> None:
        lease = decode_lease(await client_of(place).get(LEASE, "kube-system", "work"))
        assert read_record(lease).holder == "me"
        assert place.fence is not None
        place.fence.check()
        place.fence.close("for the test")
        with pytest.raises(FencedError, match="for the test"):
            await client_of(place).replace(LEASE, lease)

    async def read_holder() -> str:
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/work"
        return str((await server.request("GET", path))["spec"]["holderIdentity"])

    assert play(server, work, ELECTED)[0] == STOPPED
    assert asyncio.run(read_holder()) == ""


def test_a_lease_that_counts_on_another_deadline_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="another deadline"):
        ProcessSettings(lease=LEASE_SETTINGS, request_seconds=PATIENT_SECONDS + 1)
