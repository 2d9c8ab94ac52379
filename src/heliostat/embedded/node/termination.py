"""The last words of a container: what it wrote to its message file or, where the Pod wishes so, the end of its log."""

from pathlib import Path

MOST_OF_FILE = 4096  # bytes, as kubelets have it
MOST_OF_LOG = 2048
MOST_LINES = 80
FALLBACK = "FallbackToLogsOnError"
_LOG_PART = 64 * 1024  # enough for so many lines with their stamps


def read_message_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_OF_FILE).decode(errors="replace")
    except OSError:
        return ""


def read_end_of_log(path: Path) -> str:
    """The last lines of a log in the form of the container runtimes, without their stamps."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LOG_PART))
            lines = file.read().removesuffix(b"\n").split(b"\n")
    except OSError:
        return ""
    if size > _LOG_PART:
        lines = lines[1:]  # a part of one
    text = b"".join(_text_of(line) for line in lines[-MOST_LINES:])
    return text[-MOST_OF_LOG:].decode(errors="replace")


def _text_of(line: bytes) -> bytes:
    """``time stream tag text``; a partial line has no end of its own."""
    parts = line.split(b" ", 3)
    if len(parts) < 4:
        return b""
    return parts[3] + (b"\n" if parts[2] == b"F" else b"")
