"""Texts of a connection: fixed ones from the configuration, and files that others replace while we run.

Rules: a file is read again when its inode, size or time differs (a look costs microseconds); once it was read, a
file that vanishes for a moment leaves the last text in use, with a warning; the text itself is never in a message.
"""

import logging
import os
from pathlib import Path
from typing import TypeAlias

from heliostat.kube.hidden import Hidden
from heliostat.runtime.connection import AccessError

_logger = logging.getLogger(__name__)
_Signature: TypeAlias = tuple[int, int, int]

LARGEST = 1024 * 1024  # no certificate or token comes near


class FixedText:
    def __init__(self, text: Hidden) -> None:
        self._text = text

    def read(self) -> Hidden:
        return self._text


class FileText:
    """``where`` and ``what`` say in an error whose file it is: ``user "ann" in config``, ``client-key``."""

    def __init__(self, path: Path, where: str, what: str) -> None:
        self._path = path
        self._where = where
        self._what = what
        self._signature: _Signature | None = None
        self._text: Hidden | None = None

    def read(self) -> Hidden:
        try:
            return self._read_if_changed()
        except AccessError as error:
            if self._text is None:
                raise
            if self._signature is not None:  # once per disappearance
                _logger.warning("%s; the last content stays in use", error)
            self._signature = None
            return self._text

    def _read_if_changed(self) -> Hidden:
        try:
            signature = _signature_of(self._path.stat())
            if self._text is None or signature != self._signature:
                self._text = self._checked(self._path.read_bytes())
                self._signature = signature
        except OSError as error:
            problem = f"the file {self._path} of {self._what} cannot be read: {error.strerror}"
            raise self._error(problem, "put it there or name another file") from None
        return self._text

    def _checked(self, data: bytes) -> Hidden:
        if len(data) > LARGEST:
            raise self._error(f"the file {self._path} of {self._what} is larger than {LARGEST} bytes", "name another")
        try:
            text = data.decode().strip()
        except UnicodeDecodeError:
            raise self._error(f"the file {self._path} of {self._what} is not text", "name another file") from None
        if not text:
            raise self._error(f"the file {self._path} of {self._what} is empty", "fill it or name another file")
        return Hidden(text)

    def _error(self, problem: str, fix: str) -> AccessError:
        return AccessError(self._where, problem, fix)


def _signature_of(found: os.stat_result) -> _Signature:
    return found.st_ino, found.st_size, found.st_mtime_ns
