"""What a person sees while something is under way: rows written over on a terminal, new lines alone elsewhere."""

import io
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

import pytest

from heliostat.local.live_view import LiveView
from heliostat.local.view import PlainView, open_view

WIDTH = 80


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Screen:
    """What is to be seen after some output: enough of a terminal for what is written here."""

    def __init__(self) -> None:
        self.rows: list[str] = [""]
        self._row = 0
        self._column = 0

    def feed(self, text: str) -> "Screen":
        for part in re.findall(r"\x1b\[\??[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]", text):
            self._take(part)
        return self

    def _take(self, part: str) -> None:
        if part == "\n":
            self._move(1)
            self._column = 0
        elif part == "\r":
            self._column = 0
        elif part.startswith("\x1b["):
            self._obey(part)
        else:
            if self._column == WIDTH:
                self._move(1)
                self._column = 0
            row = self.rows[self._row].ljust(self._column)
            self.rows[self._row] = row[: self._column] + part + row[self._column + 1 :]
            self._column += 1

    def _obey(self, order: str) -> None:
        if order.endswith("A"):
            self._row = max(0, self._row - int(order[2:-1] or 1))
        elif order == "\x1b[2K":
            self.rows[self._row] = ""

    def _move(self, rows: int) -> None:
        self._row += rows
        self.rows += [""] * (self._row + 1 - len(self.rows))

    @property
    def seen(self) -> list[str]:
        return [row.rstrip() for row in self.rows if row.strip()]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("TERM", "xterm-256color")
    return Terminal()


def test_a_line_longer_than_the_terminal_leaves_nothing_behind_when_it_changes(terminal: Terminal) -> None:
    view = open_view(terminal)
    view.show(("✓ cluster", f"  ! head: {'why ' * 50}".rstrip()))
    assert len(Screen().feed(terminal.getvalue()).seen) == 4
    view.show(("✓ cluster", "  ✓ head: ready"))
    view.done()
    assert Screen().feed(terminal.getvalue()).seen == ["✓ cluster", "  ✓ head: ready"]


def test_what_is_wrapped_goes_on_under_its_text(terminal: Terminal) -> None:
    view = LiveView(terminal)
    view.show((f"  ! head: {'why ' * 30}".rstrip(),))
    view.done()
    first, second = Screen().feed(terminal.getvalue()).seen
    assert first.startswith("  ! head: why")
    assert second.startswith("    why")


def test_a_note_stays_above_the_block(terminal: Terminal) -> None:
    view = LiveView(terminal)
    view.show(("✓ one",))
    view.note("kept")
    view.show(("✓ two",))
    view.done()
    view.note("after")
    assert Screen().feed(terminal.getvalue()).seen == ["kept", "✓ two", "after"]


def test_a_block_that_is_worth_nothing_any_more_is_gone(terminal: Terminal) -> None:
    view = LiveView(terminal)
    view.show(("… starting",))
    view.clear()
    assert Screen().feed(terminal.getvalue()).seen == []


def test_elsewhere_only_new_lines_are_written() -> None:
    out = io.StringIO()
    view = open_view(out)
    assert isinstance(view, PlainView)
    view.show(("one", "two"))
    view.show(("one", "done"))
    view.note("kept")
    assert out.getvalue() == "one\ntwo\ndone\nkept\n"


def test_the_terminal_library_is_loaded_for_a_terminal_alone() -> None:
    program = (
        "import io, sys; import heliostat.cli.run, heliostat.cli.up; from heliostat.local.view import open_view;"
        " open_view(io.StringIO()); print('rich' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
    )


def test_a_terminal_neither_echoes_nor_drops_at_an_interrupt_while_a_block_is_shown() -> None:
    """In a session of its own, whose terminal it has."""
    program = (
        "import sys, termios; from heliostat.local.live_view import LiveView\n"
        "def flags():\n"
        "    local = termios.tcgetattr(0)[3]\n"
        "    return bool(local & termios.ECHOCTL), bool(local & termios.NOFLSH)\n"
        "view = LiveView(sys.stderr); seen = [flags()]\n"
        "view.show(['… one']); seen.append(flags()); view.done(); seen.append(flags()); print('seen', seen)\n"
    )
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-c", program])  # noqa: S606  the test's own program
    written = b""
    with suppress(OSError):  # the other side has closed it
        while data := os.read(terminal, 4096):
            written += data
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)
    assert b"seen [(True, False), (False, True), (True, False)]" in written


def test_a_terminal_shows_life_before_a_slow_command_is_loaded() -> None:
    program = (
        "import sys; import heliostat.cli.main as main\n"
        "loaded = lambda: [name for name in sys.modules if 'msgspec' in name]\n"
        "main._import_command = lambda name: sys.exit(f'loaded {loaded()}')\n"
        "main.main(['up'])\n"
    )
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-c", program])  # noqa: S606  the test's own program
    written = b""
    with suppress(OSError):
        while data := os.read(terminal, 4096):
            written += data
    os.waitpid(pid, 0)
    os.close(terminal)
    assert written == "…\rloaded []\r\n".encode()
