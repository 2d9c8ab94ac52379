import asyncio
import time

import pytest

from heliostat.testing import virtual_time
from heliostat.testing.virtual_time import DeadlockError, LivelockError, VirtualTimeError, run_virtual


def test_an_hour_of_sleep_takes_a_moment() -> None:
    async def main() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    begun = time.monotonic()
    assert run_virtual(main()) == 3600
    assert time.monotonic() - begun < 5


def test_time_starts_where_it_is_told() -> None:
    async def main() -> float:
        await asyncio.sleep(0.25)
        return asyncio.get_running_loop().time()

    assert run_virtual(main(), start=1e9) == 1e9 + 0.25


def test_sleepers_wake_in_order_of_their_times() -> None:
    async def main() -> list[tuple[float, str]]:
        woken: list[tuple[float, str]] = []

        async def sleeper(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            woken.append((asyncio.get_running_loop().time(), name))

        async with asyncio.TaskGroup() as group:
            for name, seconds in (("c", 3.0), ("a", 1.0), ("b", 2.0), ("a2", 1.0)):
                group.create_task(sleeper(name, seconds))
        return woken

    assert run_virtual(main()) == [(1.0, "a"), (1.0, "a2"), (2.0, "b"), (3.0, "c")]


def test_deadlines_are_virtual_too() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.sleep(1000)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 30


def test_a_deadlock_names_who_waits_and_where() -> None:
    async def waits_for_godot() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await asyncio.create_task(waits_for_godot(), name="estragon")

    with pytest.raises(DeadlockError, match=r"estragon waits in .*wait"):
        run_virtual(main())


def test_turning_on_the_spot_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "MOST_SLICES_AT_ONE_INSTANT", 1000)

    async def main() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(LivelockError):
        run_virtual(main())


def test_many_slices_are_fine_while_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "MOST_SLICES_AT_ONE_INSTANT", 100)

    async def main() -> None:
        for _ in range(1000):
            await asyncio.sleep(0.001)

    run_virtual(main())


def test_who_was_woken_a_hair_too_early_and_waits_for_the_rest_gets_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reconciler does whose deadline is by another clock than the loop's."""
    monkeypatch.setattr(virtual_time, "MOST_SLICES_AT_ONE_INSTANT", 100)

    async def main() -> float:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + 5.0
        await asyncio.sleep(5.0 - 4e-7)
        while loop.time() < deadline:
            reached = asyncio.Event()
            loop.call_at(deadline, reached.set)
            await asyncio.sleep(0)  # there is always somebody who has something to do
            await reached.wait()
        return loop.time() - deadline

    assert run_virtual(main(), start=20_000.0) < 1e-5


def test_threads_are_refused() -> None:
    async def main() -> None:
        await asyncio.to_thread(time.monotonic)

    with pytest.raises(VirtualTimeError, match="wants a thread"):
        run_virtual(main())


def test_a_call_from_another_place_needs_no_wake_up() -> None:
    async def main() -> str:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[str] = loop.create_future()
        loop.call_soon_threadsafe(told.set_result, "told")
        return await told

    assert run_virtual(main()) == "told"
