"""What counts as a Ray version, and which of two is newer.

A version is optional blanks and ``v``, at least two numbers joined by dots, and any ending, which is ignored:
``2.53.0rc1`` counts as 2.53.0. A missing number is 0. Not a version: ``nightly``, a single number, a first number with
a leading zero. KubeRay: constants.md §8.
"""

import re

from msgspec import Struct

from heliostat.kube.go_text import go_quote

# Go's \s and end of text: ASCII blanks only, and a line break inside the text is no version.
_VERSION = re.compile(r"[\t\n\f\r ]*v?([0-9]+(?:\.[0-9]+)*)[^\n]*")
_UNSIGNED_LIMIT = 2**64


class NotAVersion(Struct, frozen=True):
    """Why a text is no version, in the words of Kubernetes' version library."""

    why: str


def read_ray_version(text: str) -> tuple[int, ...] | NotAVersion:
    match = _VERSION.fullmatch(text)
    if match is None:
        return NotAVersion(f"could not parse {go_quote(text)} as version")
    parts = match[1].split(".")
    if len(parts) < 2:
        return NotAVersion(f"illegal version string {go_quote(text)}")
    if parts[0].startswith("0") and parts[0] != "0":
        return NotAVersion(f'illegal zero-prefixed version component "{parts[0]}" in {go_quote(text)}')
    too_big = next((part for part in parts if len(part) > 20 or int(part) >= _UNSIGNED_LIMIT), None)
    if too_big is not None:
        return NotAVersion(f'illegal non-numeric version component "{too_big}" in {go_quote(text)}')
    return tuple(int(part) for part in parts)


def parse_ray_version(text: str | None) -> tuple[int, ...] | None:
    """The numbers of the version, or None when the text is empty or not a version."""
    version = read_ray_version(text) if text else None
    return version if isinstance(version, tuple) else None


def is_version_at_least(version: tuple[int, ...], minimum: tuple[int, ...]) -> bool:
    width = max(len(version), len(minimum))
    return _padded(version, width) >= _padded(minimum, width)


def is_at_least(text: str | None, minimum: tuple[int, ...]) -> bool:
    """Whether the text is a version and not older than ``minimum``; an unknown version is not."""
    version = parse_ray_version(text)
    return version is not None and is_version_at_least(version, minimum)


def _padded(version: tuple[int, ...], width: int) -> tuple[int, ...]:
    return version + (0,) * (width - len(version))
