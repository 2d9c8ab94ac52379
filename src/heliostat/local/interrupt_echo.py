"""A terminal at Ctrl-C while a block is written over: it shows ``^C`` in the middle of it and throws away what it has
not shown yet, so that rows go missing. Both can be told not to be."""

import os
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_LOCAL_FLAGS = 3  # where they are among the attributes
_ECHO_AS_CARET = getattr(termios, "ECHOCTL", 0)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Only for who has the terminal: a program in the background would be stopped for it."""
    try:
        number = sys.stdin.fileno()
        before = termios.tcgetattr(number) if os.tcgetpgrp(number) == os.getpgrp() else None
    except (OSError, ValueError, AttributeError, termios.error):
        before = None
    if before is None:
        yield
        return
    wanted = list(before)
    wanted[_LOCAL_FLAGS] = (before[_LOCAL_FLAGS] | termios.NOFLSH) & ~_ECHO_AS_CARET
    termios.tcsetattr(number, termios.TCSANOW, wanted)
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(number, termios.TCSANOW, before)
