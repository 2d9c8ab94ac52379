"""Logs in a file, beside those on the standard stream: from level info on, and begun anew when the file is large.

The file may be rotated by somebody else too; lines that cannot be written are lost in silence, as a log must never
stop the work.
"""

import logging
import time
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from heliostat.runtime.logs import JsonFormatter, LogSettingsError, TextFormatter

LARGEST_BYTES = 500 * 1024 * 1024
KEPT_FILES = 10


def add_log_file(
    path: str,
    format_name: str,
    *,
    largest_bytes: int = LARGEST_BYTES,
    wall_clock: Callable[[], float] = time.time,
) -> logging.Handler:
    """After ``configure_logging``: what was configured keeps its level. Raises LogSettingsError.

    Folders that are missing are made, as KubeRay's logger does.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=largest_bytes, backupCount=KEPT_FILES, encoding="utf-8")
    except OSError as error:
        raise LogSettingsError(
            f"cannot write logs to {path}: {error.strerror}; name a file that can be written"
        ) from None
    handler.setLevel(logging.INFO)
    handler.setFormatter(JsonFormatter(wall_clock) if format_name == "json" else TextFormatter(wall_clock))
    root = logging.getLogger()
    for other in root.handlers:
        other.setLevel(max(other.level, root.level))
    root.addHandler(handler)
    root.setLevel(min(root.level, logging.INFO))
    return handler
