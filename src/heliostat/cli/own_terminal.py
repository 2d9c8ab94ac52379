"""The terminal that a command is typed into: raw while a remote one is shown in it, and its input as it comes."""

import asyncio
import os
import signal
import termios
import threading
import tty
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

INPUT, OUTPUT = 0, 1  # descriptors: a shell may have closed what Python calls stdin
_READ = 32 * 1024


def is_terminal() -> bool:
    """Input and output are one, so that a remote terminal can be shown in it."""
    return os.isatty(INPUT) and os.isatty(OUTPUT)


@contextmanager
def raw_terminal() -> Iterator[None]:
    """Every key goes to the other side, Ctrl-C too."""
    before = termios.tcgetattr(INPUT)
    try:
        tty.setraw(INPUT)
        yield
    finally:
        termios.tcsetattr(INPUT, termios.TCSADRAIN, before)


def build_size() -> bytes:
    size = os.get_terminal_size(OUTPUT)  # never COLUMNS and LINES, which a shell may have exported long ago
    return msgspec.json.encode({"Width": size.columns, "Height": size.lines})


@contextmanager
def on_resize(tell: Callable[[], None]) -> Iterator[None]:
    """Inside a running loop."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, tell)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


def pump_input(
    send: Callable[[bytes], Coroutine[Any, Any, None]], end: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Hand on what comes in, in a thread that ends with the process: reading a terminal cannot be cancelled."""
    loop = asyncio.get_running_loop()

    def hand_on(step: Coroutine[Any, Any, None]) -> None:
        try:
            asyncio.run_coroutine_threadsafe(step, loop).result()
        finally:
            step.close()  # a loop that has ended takes nothing, and would say so on the terminal

    def read() -> None:
        with suppress(ConnectionError, RuntimeError, CancelledError):  # the command or the loop has ended
            while data := _read_input():
                hand_on(send(data))
            hand_on(end())

    threading.Thread(target=read, name="input", daemon=True).start()


def _read_input() -> bytes:
    """Empty at the end, and when there is none."""
    try:
        return os.read(INPUT, _READ)
    except OSError:
        return b""
