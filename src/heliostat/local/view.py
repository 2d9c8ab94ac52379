"""What a person sees while something is under way: a block of lines that changes, and lines that stay.

On a terminal the block is written over (``live_view.py``); elsewhere, in a file or a pipe, only what is new is
written. The terminal library is loaded for a terminal alone.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Protocol, TextIO


class View(Protocol):
    is_live: bool  # the block is written over, so it may be a table

    def show(self, lines: Sequence[str]) -> None:
        """The block as it is now. A line begins with a mark: … under way, ✓ done, ✗ failed, ! look at this."""
        ...

    def note(self, text: str) -> None:
        """Lines that stay."""
        ...

    def clear(self) -> None:
        """The block is over and worth nothing any more."""
        ...

    def done(self) -> None:
        """The block stays as it is, and what comes next comes below it."""
        ...


class PlainView:
    is_live = False

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._shown: tuple[str, ...] = ()

    def show(self, lines: Sequence[str]) -> None:
        self._write(line for line in lines if line not in self._shown)
        self._shown = tuple(lines)

    def note(self, text: str) -> None:
        self._write((text,))

    def clear(self) -> None:
        self._shown = ()

    done = clear

    def _write(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._out.write(f"{line}\n")
        self._out.flush()


def open_view(out: TextIO) -> View:
    if not out.isatty() or os.environ.get("TERM", "") in ("", "dumb"):
        return PlainView(out)
    from heliostat.local.live_view import LiveView  # noqa: PLC0415  loads the terminal library

    return LiveView(out)
