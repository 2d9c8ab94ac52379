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
                Path(place, name).chmod(0o700)  # os.walk lists before it descends
    shutil.rmtree(directory, ignore_errors=True)
