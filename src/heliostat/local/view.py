"""Progress on a terminal: lines that are written over as things change; where there is none, only what is new."""

from typing import TextIO

from heliostat.local.progress import ClusterView

_UP_AND_CLEAR = "\x1b[{lines}F\x1b[0J"


class ProgressView:
    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_live = out.isatty()
        self._shown: tuple[str, ...] = ()

    def show(self, view: ClusterView) -> None:
        if self._is_live:
            self._clear()
            self._write(view.lines)
        else:
            self._write(tuple(line for line in view.lines if line not in self._shown))
        self._shown = view.lines

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._is_live:
            self._clear()
        self._write((text,))
        if self._is_live:
            self._write(self._shown)

    def done(self) -> None:
        """What is shown stays, and the next lines come below it."""
        self._shown = ()

    def _clear(self) -> None:
        if self._shown:
            self._out.write(_UP_AND_CLEAR.format(lines=len(self._shown)))

    def _write(self, lines: tuple[str, ...]) -> None:
        for line in lines:
            self._out.write(f"{line}\n")
        self._out.flush()
