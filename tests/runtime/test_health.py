"""Health: checks, the pulse of the loop, and the small server over real sockets."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from heliostat.runtime import health_server
from heliostat.runtime.health import Health
from heliostat.runtime.health_server import METRICS, PROBES, HealthServer, HealthServerError, Served
from heliostat.runtime.loop_lag import LoopPulse, SliceWatch, SlowSliceError
from heliostat.runtime.metrics import Registry
from heliostat.runtime.side_thread import SideThread
from heliostat.testing.virtual_time import run_virtual


def broken() -> str | None:
    raise ZeroDivisionError("no watch")


def test_a_verdict_names_what_is_wrong() -> None:
    health = Health()
    health.add_liveness("loop", lambda: None)
    health.add_liveness("watch pods", lambda: "no progress for 71 s")
    health.add_readiness("caches", broken)
    assert not health.livez().is_well
    assert health.livez().render() == ("[+]loop ok\n[-]watch pods failed: no progress for 71 s\nlivez check failed\n")
    assert health.readyz().render() == (
        "[+]loop ok\n"
        "[-]watch pods failed: no progress for 71 s\n"
        "[-]caches failed: the check itself failed: ZeroDivisionError: no watch\n"
        "readyz check failed\n"
    )
    health.remove("watch pods")
    assert health.livez().is_well
    assert not health.readyz().is_well


def test_the_pulse_tells_lag_and_what_the_loop_saw() -> None:
    async def scenario() -> None:
        clock = asyncio.get_running_loop().time
        lags: list[float] = []
        seen: list[str] = []
        pulse = LoopPulse(clock, on_lag=lags.append, problems=lambda: seen, stuck_seconds=5)
        assert pulse.loop_problem() == "the event loop has not begun"
        running = asyncio.create_task(pulse.run())
        await asyncio.sleep(3.5)
        assert (pulse.loop_problem(), pulse.seen_problem()) == (None, None)
        assert lags == [0.0, 0.0, 0.0]
        seen += ["the watch of pods has made no progress for 71 s", "the watch of jobs has not begun"]
        await asyncio.sleep(1)
        assert pulse.seen_problem() == (
            "the watch of pods has made no progress for 71 s; the watch of jobs has not begun"
        )
        running.cancel()
        await asyncio.sleep(8.6)
        assert pulse.loop_problem() == "the event loop has not turned for 9 s"

    run_virtual(scenario())


def test_a_slice_that_holds_the_loop_is_named() -> None:
    async def greedy() -> None:
        time.sleep(0.05)

    async def scenario() -> None:
        with SliceWatch() as watch:
            await asyncio.sleep(0)
        assert watch.slow == []
        with pytest.raises(SlowSliceError, match=r"longer than 20 ms: Executing .*greedy"), SliceWatch():
            await asyncio.create_task(greedy())
        assert not asyncio.get_running_loop().get_debug()

    asyncio.run(scenario())


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


async def is_turned_away(port: int) -> bool:
    try:
        return await ask(port, b"GET /livez HTTP/1.1\r\n\r\n") == b""
    except ConnectionResetError:
        return True


async def get(port: int, target: str, method: str = "GET") -> tuple[int, str]:
    answer = await ask(port, f"{method} {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = answer.decode().partition("\r\n\r\n")
    return int(head.split(" ")[1]), body


@asynccontextmanager
async def serving(health: Health, registry: Registry | None = None) -> AsyncIterator[int]:
    async with HealthServer(health, registry or Registry()) as server:
        yield server.port


def with_server(test: Callable[[int, Health, Registry], Awaitable[None]]) -> None:
    async def scenario() -> None:
        health, registry = Health(), Registry()
        async with serving(health, registry) as port:
            await test(port, health, registry)

    asyncio.run(scenario())


def test_the_pages_over_a_real_socket() -> None:
    async def test(port: int, health: Health, registry: Registry) -> None:
        health.add_liveness("loop", lambda: None)
        registry.counter("a_total", "A.").inc()
        assert await get(port, "/livez") == (200, "ok")
        assert await get(port, "/healthz?verbose") == (200, "[+]loop ok\nhealthz check passed\n")
        assert await get(port, "/readyz?verbose=1") == (200, "[+]loop ok\nreadyz check passed\n")
        assert await get(port, "/metrics") == (200, "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n")
        health.add_readiness("caches", lambda: "pods are not complete")
        assert await get(port, "/livez") == (200, "ok")
        status, body = await get(port, "/readyz")
        assert (status, "[-]caches failed: pods are not complete" in body) == (500, True)
        assert await get(port, "/livez", "HEAD") == (200, "")

    with_server(test)


@pytest.mark.parametrize(
    ("pages", "served", "others"),
    [(PROBES, "/healthz", "/metrics"), (METRICS, "/metrics", "/readyz")],
    ids=["probes", "metrics"],
)
def test_an_address_may_serve_some_pages_only(pages: tuple[str, ...], served: str, others: str) -> None:
    async def scenario() -> None:
        async with HealthServer(Health(), Registry(), Served(pages=pages)) as server:
            assert (await get(server.port, served))[0] == 200
            assert await get(server.port, others) == (404, f"there are only {', '.join(pages)}\n")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:80"), ("", "http://0.0.0.0:80"), ("::1", "http://[::1]:80")],
)
def test_where_it_is_served_is_shown_as_an_address(host: str, url: str) -> None:
    assert Served(host=host).url(80) == url


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST /livez HTTP/1.1\r\n\r\n", 405),
        (b"DELETE /metrics HTTP/1.1\r\n\r\n", 405),
        (b"GET /secrets HTTP/1.1\r\n\r\n", 404),
        (b"GET /livez/../metrics HTTP/1.1\r\n\r\n", 404),
        (b"nonsense\r\n\r\n", 400),
        (b"\xff\xfe \x00 HTTP/9\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", 431),
    ],
)
def test_other_requests_are_refused(request_bytes: bytes, status: int) -> None:
    async def test(port: int, _health: Health, _registry: Registry) -> None:
        answer = await ask(port, request_bytes)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())

    with_server(test)


def test_a_client_that_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_server, "_EXCHANGE_SECONDS", 0.05)

    async def test(port: int, _health: Health, _registry: Registry) -> None:
        assert await ask(port, b"GET /livez HTT") == b""
        assert (await get(port, "/livez"))[0] == 200

    with_server(test)


def test_too_many_connections_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_server, "_MOST_CONNECTIONS", 2)

    async def test(port: int, _health: Health, _registry: Registry) -> None:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        async with asyncio.timeout(10):
            while not await is_turned_away(port):
                await asyncio.sleep(0.01)
        for _reader, writer in held:
            writer.close()

    with_server(test)


def test_a_page_that_fails_answers_500_and_the_server_lives_on() -> None:
    async def test(port: int, _health: Health, registry: Registry) -> None:
        registry.read_gauge("bad", "Bad.", read=lambda: {(): 1 / 0})
        assert await get(port, "/metrics") == (500, "this page failed: ZeroDivisionError: division by zero\n")
        assert (await get(port, "/livez"))[0] == 200

    with_server(test)


def test_an_address_in_use_is_said_clearly() -> None:
    async def scenario() -> None:
        async with serving(Health()) as port:
            with pytest.raises(HealthServerError, match=rf"cannot serve .* 127\.0\.0\.1:{port}.*choose another"):
                await HealthServer(Health(), Registry(), Served(port=port)).start()

    asyncio.run(scenario())


def test_it_answers_and_turns_red_while_the_main_loop_is_stuck() -> None:
    health = Health()
    found: list[int] = []

    def probe(port: int, stuck: threading.Event) -> None:
        """From a third thread, as a kubelet would."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and (not found or found[-1] != 500):
            found.append(asyncio.run(get(port, "/livez"))[0])
        stuck.set()

    async def scenario() -> None:
        pulse = LoopPulse(time.monotonic, beat_seconds=0.02, stuck_seconds=2.0)
        health.add_liveness("loop", pulse.loop_problem)
        beating = asyncio.create_task(pulse.run())
        server = HealthServer(health, Registry())
        with SideThread("health") as side:
            await side.run(server.start())
            await asyncio.sleep(0)
            stuck = threading.Event()
            prober = threading.Thread(target=probe, args=(server.port, stuck))
            prober.start()
            stuck.wait(30)  # the main loop is stuck here until the probe turns red
            prober.join()
            await side.run(server.close())
        beating.cancel()

    asyncio.run(scenario())
    assert found[0] == 200
    assert found[-1] == 500
