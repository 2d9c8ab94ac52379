"""Text for a person: on a terminal long lines are broken between words, elsewhere they are as they are."""

import os
import sys
from typing import TextIO

_FURTHER = 2  # by which the rest of a broken line is indented


def say(text: str, out: TextIO | None = None) -> None:
    """On standard output, unless it is told where."""
    out = out or sys.stdout
    print(fit(text, _find_width(out)) if out.isatty() else text, file=out, flush=True)


def fit(text: str, width: int) -> str:
    return "\n".join(_fit_line(line, width) for line in text.split("\n"))


def _fit_line(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    import textwrap

    indent = len(line) - len(line.lstrip()) + _FURTHER
    return "\n".join(
        textwrap.wrap(
            line,
            width,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
            expand_tabs=False,
        )
    )


def _find_width(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or sys.maxsize
    except OSError:
        return sys.maxsize
