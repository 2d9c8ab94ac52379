"""The view on a terminal, by rich: it counts rows as the terminal has them, wraps long lines under themselves, and
leaves nothing stale behind. What moves shows that something is under way."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from heliostat.local.interrupt_echo import undisturbed

_UNDER_WAY = "…"
_STYLES = {"✓": "green", "✗": "red", "!": "yellow"}
_FRAMES_PER_SECOND = 8


class LiveView:
    is_live = True

    def __init__(self, out: TextIO) -> None:
        self._console = Console(file=out, markup=False, emoji=False, highlight=False)
        self._live: Live | None = None
        self._lines: tuple[str, ...] = ()
        self._since = 0.0
        self._spinner = Spinner("dots")
        self._calm = ExitStack()

    def show(self, lines: Sequence[str]) -> None:
        self._lines = tuple(lines)
        if self._live is None:
            self._since = time.monotonic()
            self._live = Live(
                console=self._console,
                get_renderable=self._render,
                refresh_per_second=_FRAMES_PER_SECOND,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._calm.enter_context(undisturbed())
            self._live.start()
        self._live.refresh()

    def note(self, text: str) -> None:
        self._console.print(Text(text))

    def clear(self) -> None:
        if self._live is not None:
            self._live.transient = True
        self._stop()

    def done(self) -> None:
        self._stop()

    def _stop(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()
            self._calm.close()

    def _render(self) -> RenderableType:
        return Group(*(self._row(line, is_first=not number) for number, line in enumerate(self._lines)))

    def _row(self, line: str, *, is_first: bool) -> RenderableType:
        """Mark and text beside each other, so that what is wrapped goes on under the text."""
        text = line.lstrip()
        indent, mark = len(line) - len(text), text[:1]
        if mark not in (_UNDER_WAY, *_STYLES):
            mark = ""
        row = Table.grid(padding=0)
        row.add_column(width=indent + 2, no_wrap=True)
        row.add_column(overflow="fold")
        row.add_row(self._mark(mark, indent), Text(text[len(mark) :].strip() + self._age(mark, is_first=is_first)))
        return row

    def _mark(self, mark: str, indent: int) -> RenderableType:
        if mark == _UNDER_WAY and self._live is not None:
            frame = self._spinner.render(time.monotonic())
            mark = frame.plain if isinstance(frame, Text) else mark
        return Text(" " * indent + mark, style=_STYLES.get(mark, ""))

    def _age(self, mark: str, *, is_first: bool) -> str:
        seconds = time.monotonic() - self._since
        return f" ({seconds:.0f} s)" if is_first and mark == _UNDER_WAY and seconds >= 1 else ""
