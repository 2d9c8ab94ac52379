"""Removing what Pods leave behind: also what is closed to its own owner, which counts where nobody is root.

Overlays leave a directory that nobody may enter, and programs make some of their own read-only.
"""

import contextlib
import os
import shutil
from pathlib import Path


def remove_tree(directory: Path) -> None:
    """What cannot be removed even so stays."""
    shutil.rmtree(directory, ignore_errors=True)
    for place, inner, _files in os.walk(directory):
        for name in inner:
            with contextlib.suppress(OSError):
                _open_up(Path(place, name))  # os.walk lists before it descends
    shutil.rmtree(directory, ignore_errors=True)


def _open_up(directory: Path) -> None:
    """Not what a link leads to: programs in Pods may leave links to anything."""
    opened = os.open(directory, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chmod(f"/proc/self/fd/{opened}", 0o700)  # noqa: PTH101
    finally:
        os.close(opened)
