"""Lines of container logs as a client wants them, from the lines on disk: ``time stream P|F text``. Pure.

Rules, the kubelet's: both streams in the order of their coming; what is older than asked for is left out; a time, where
wanted, stands before each line once, however many parts the line was cut into; after so many bytes it is over.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from msgspec import Struct

from heliostat.embedded.server.nodes.node_backend import LogOptions
from heliostat.kube.timestamps import parse_timestamp

_PARTS = 4


class Wanted(Struct, frozen=True, kw_only=True):
    since: bytes = b""  # a time in the form of the lines, which compare as text
    has_times: bool = False
    most_bytes: int | None = None


def build_wanted(options: LogOptions, now: float) -> Wanted:
    """Raises ValueError for a time that is none."""
    since = None
    if options.since_seconds is not None:
        since = now - options.since_seconds
    elif options.since_time is not None:
        since = parse_timestamp(options.since_time)
    return Wanted(
        since=b"" if since is None else format_log_time(since),
        has_times=options.timestamps,
        most_bytes=options.limit_bytes,
    )


def format_log_time(epoch: float) -> bytes:
    moment = datetime.fromtimestamp(int(epoch), UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{int(epoch % 1 * 1_000_000_000):09d}Z".encode()


class LogWriter:
    """What a client reads, piece by piece."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._left = wanted.most_bytes
        self._is_inside_line = False

    @property
    def is_full(self) -> bool:
        return self._left is not None and self._left <= 0

    def write(self, lines: Iterable[bytes]) -> bytes:
        """``lines`` without their ends."""
        text = b"".join(self._convert(line) for line in lines)
        if self._left is None:
            return text
        text = text[: max(self._left, 0)]
        self._left -= len(text)
        return text

    def _convert(self, line: bytes) -> bytes:
        parts = line.split(b" ", _PARTS - 1)
        if len(parts) < _PARTS or parts[0] < self._wanted.since:
            return b""  # torn by a crash, or too old
        time, _stream, tag, text = parts
        is_begun, self._is_inside_line = self._is_inside_line, tag == b"P"
        if self._wanted.has_times and not is_begun:
            text = time + b" " + text
        return text if self._is_inside_line else text + b"\n"
