"""Where in a document: a path of keys and indices, and the text people read."""

import re
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def format_dotted(path: Path) -> str:
    """``spec.labels.bad key!``: whatever a key holds, it stands behind a dot."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def format_path(path: Path) -> str:
    """``spec.workerGroupSpecs[0].template``; keys with dots or slashes stand in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int) or not _PLAIN_KEY.fullmatch(part):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text or "(document)"
