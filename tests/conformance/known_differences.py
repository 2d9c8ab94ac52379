"""The differences that are meant, each with the id under which docs/differences-kubernetes.md gives its reason.

A row matches by regular expressions that must be found in the sequence's name, the request, the place and both values.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from conformance.differ import Difference


class Known(Struct, frozen=True, kw_only=True):
    id: str
    sequence: str = ""
    request: str = ""
    where: str = ""
    expected: str = ""
    actual: str = ""

    def matches(self, difference: Difference) -> bool:
        parts = (
            (self.sequence, difference.sequence),
            (self.request, difference.request),
            (self.where, difference.where),
            (self.expected, str(difference.expected)),
            (self.actual, str(difference.actual)),
        )
        return all(re.search(pattern, text) is not None for pattern, text in parts)


KNOWN: tuple[Known, ...] = (
    Known(
        id="K6",
        sequence="^quota-",
        request="resourcequotas",
        where=r"^body\.status\.(hard|used)",
        expected=r"^\(absent\)$",
    ),
)


def unexpected(differences: Iterable[Difference]) -> list[Difference]:
    return [difference for difference in differences if not any(known.matches(difference) for known in KNOWN)]
