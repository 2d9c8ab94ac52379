"""The end of a program as Ray tells it: what is said of it in one sentence, and its own last lines.

Ray puts a whole log or traceback into a message. Of that the last lines count, as they are; the frames of a traceback
that lie in the code of Ray or Python are left out, since nobody can mend them there.
"""

import re

from msgspec import Struct

_MOST_LINES = 12
_MOST_CHARACTERS = 400
_FRAME = re.compile(r'\s*File "(<frozen |.*/site-packages/ray/|.*/lib/python3[^/]*/(?!site-packages/))')
_TRACEBACK = "Traceback (most recent call last)"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class LastWords(Struct, frozen=True):
    said: str
    lines: tuple[str, ...]


def read_last_words(message: str) -> LastWords:
    """``said`` is the first line: what Ray says itself; the rest is the program's. Of a bare traceback
    Ray says nothing itself."""
    text = _COLOURS.sub("", message).strip()
    first, _newline, rest = ("", "", text) if text.startswith(_TRACEBACK) else text.partition("\n")
    lines = [line.rstrip()[:_MOST_CHARACTERS] for line in _drop_frames(rest.splitlines()) if line.strip()]
    return LastWords(first.rstrip(": "), tuple(lines[-_MOST_LINES:]))


def _drop_frames(lines: list[str]) -> list[str]:
    """Each frame with the lines of code below it, which are indented further."""
    kept: list[str] = []
    is_inside = False
    for line in lines:
        if line.lstrip().startswith("File "):
            is_inside = bool(_FRAME.match(line))
        elif not line.startswith("    "):
            is_inside = False
        if not is_inside:
            kept.append(line)
    return kept
