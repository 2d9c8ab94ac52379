"""What a command reads from its own input: a loop that ends meanwhile leaves no words behind."""

import asyncio
import os
import threading
import warnings

import pytest

from heliostat.cli import own_terminal


@pytest.mark.filterwarnings("error")
def test_input_that_ends_after_the_loop_leaves_nothing_unawaited(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    monkeypatch.setattr(own_terminal, "INPUT", reading)
    given: list[bytes] = []

    async def send(data: bytes) -> None:
        given.append(data)

    async def end() -> None:
        given.append(b"")

    async def begin() -> None:
        own_terminal.pump_input(send, end)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(begin())
        (pump,) = [thread for thread in threading.enumerate() if thread.name == "input"]
        os.close(writing)
        pump.join(10)
    os.close(reading)
    assert not pump.is_alive()
    assert given == []
