"""Semantic versions in rules: ``semver('1.2.3')``, compared by precedence, without build metadata.

With a second argument ``true`` the text is made regular first: a leading v, missing parts and leading zeros are fine.
"""

import re

from msgspec import Struct

from heliostat.embedded.cel.declarations import Declaration, function, method
from heliostat.embedded.cel.errors import EvaluationError
from heliostat.embedded.cel.prices import READ
from heliostat.embedded.cel.values import MAX_UINT, register_type

_IDENTIFIER = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"(0|[1-9]\d{{0,19}})\.(0|[1-9]\d{{0,19}})\.(0|[1-9]\d{{0,19}})"
    rf"(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
_LOOSE = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+].*)?", re.ASCII | re.DOTALL)


_MOST_DIGITS = 20  # of what fits 64 bits


class Version(Struct, frozen=True, eq=False):
    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...]

    @property
    def precedence(self) -> tuple[object, ...]:
        """Numbers before words, a release after its pre-releases."""
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.prerelease)
        return (self.major, self.minor, self.patch, not self.prerelease, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.precedence == other.precedence

    def __hash__(self) -> int:
        return hash(self.precedence)


def _normalise(text: str) -> str:
    found = _LOOSE.fullmatch(text)
    if found is None:
        return text
    numbers = (str(int(found[part] or "0")) if len(found[part] or "0") < 40 else "x" for part in (1, 2, 3))
    return ".".join(numbers) + (found[4] or "")


def _read(text: str, normalise: bool) -> Version | None:
    found = _VERSION.fullmatch(_normalise(text) if normalise else text)
    if found is None or max(int(found[part]) for part in (1, 2, 3)) > MAX_UINT:
        return None
    prerelease = tuple(found[4].split(".")) if found[4] else ()
    if any(part.isdigit() and (len(part) > _MOST_DIGITS or int(part) > MAX_UINT) for part in prerelease):
        return None
    return Version(int(found[1]), int(found[2]), int(found[3]), prerelease)


def _parse(text: str, normalise: bool = False) -> Version:
    version = _read(text, normalise)
    if version is None:
        raise EvaluationError(
            "No Major.Minor.Patch elements found" if text.count(".") < 2 else "Invalid Semver version"
        )
    return version


def _is_semver(text: str, normalise: bool = False) -> bool:
    return _read(text, normalise) is not None


def _compare(left: Version, right: Version) -> int:
    return (left.precedence > right.precedence) - (left.precedence < right.precedence)


register_type(Version, "kubernetes.Semver")

VERSIONS: list[Declaration] = [
    function("semver(string) -> semver", "semver(string, bool) -> semver", run=_parse, price=READ),
    function("isSemver(string) -> bool", "isSemver(string, bool) -> bool", run=_is_semver, price=READ),
    method("semver.isLessThan(semver) -> bool", run=lambda left, right: _compare(left, right) < 0),
    method("semver.isGreaterThan(semver) -> bool", run=lambda left, right: _compare(left, right) > 0),
    method("semver.compareTo(semver) -> int", run=_compare),
    method("semver.major() -> int", run=lambda version: version.major),
    method("semver.minor() -> int", run=lambda version: version.minor),
    method("semver.patch() -> int", run=lambda version: version.patch),
]
