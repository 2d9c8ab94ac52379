"""Container logs on disk, in the form of the container runtimes: time, stream, P or F (partial or full line), text.

A file that has grown too large becomes ``<log>.1``, and the one that was there before goes. Lines longer than 16 kB are
cut into partial ones, as kubelets expect.
"""

import time
from io import FileIO
from pathlib import Path

LONGEST = 16 * 1024


class ContainerLog:
    def __init__(self, path: str, most_bytes: int) -> None:
        self._path = path
        self._most = most_bytes
        self._file = self._open()
        self._rest = {"stdout": b"", "stderr": b""}

    def write(self, stream: str, data: bytes) -> None:
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        for line in lines:
            self._write_line(stream, line)
        while len(rest) >= LONGEST:
            self._put(stream, b"P", rest[:LONGEST])
            rest = rest[LONGEST:]
        self._rest[stream] = rest

    def end(self, stream: str) -> None:
        """The last line may have no end."""
        rest, self._rest[stream] = self._rest[stream], b""
        if rest:
            self._put(stream, b"P", rest)

    def close(self) -> None:
        for stream in self._rest:
            self.end(stream)
        self._file.close()

    def _write_line(self, stream: str, line: bytes) -> None:
        while len(line) > LONGEST:
            self._put(stream, b"P", line[:LONGEST])
            line = line[LONGEST:]
        self._put(stream, b"F", line)

    def _put(self, stream: str, tag: bytes, text: bytes) -> None:
        if self._file.tell() > self._most:
            self._rotate()
        self._file.write(b" ".join((_now(), stream.encode(), tag, text)) + b"\n")

    def _rotate(self) -> None:
        self._file.close()
        Path(self._path).replace(f"{self._path}.1")
        self._file = self._open()

    def _open(self) -> FileIO:
        return open(self._path, "ab", buffering=0)  # noqa: PTH123  it stays open for the container's life


def _now() -> bytes:
    nanoseconds = time.time_ns()
    moment = time.gmtime(nanoseconds // 1_000_000_000)  # datetime would be 0.4 MB of every Pod
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{nanoseconds % 1_000_000_000:09d}Z".encode()
