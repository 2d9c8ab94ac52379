"""The differences that are meant, each with the id under which docs/differences-kubernetes.md gives its reason.

A row matches by regular expressions that must be found in the scenario's name, the place and both values.
"""

import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from conformance.controllers.comparing import Difference
from conformance.model import Json


class Known(Struct, frozen=True, kw_only=True):
    id: str
    scenario: str = ""
    where: str = ""
    real: str = ""
    ours: str = ""
    is_chance: bool = False  # the real ones do the one or the other, so no recording need show it

    def matches(self, difference: Difference) -> bool:
        parts = (
            (self.scenario, difference.scenario),
            (self.where, difference.where),
            (self.real, _text(difference.real)),
            (self.ours, _text(difference.ours)),
        )
        return all(re.search(pattern, text) is not None for pattern, text in parts)


_CLAIMS = "^sched-(missing|unbound)-claim$"
KNOWN: tuple[Known, ...] = (
    Known(
        id="K30",
        scenario="^job-impossible-specs$",
        where="not-indexed-too.*message$",
        real=r'Invalid value: \{"Rules":.*requires indexed completion mode',
        ours=r'Invalid value: \{"rules":.*requires indexed completion mode',
    ),
    Known(
        id="K41",
        where=r", Node .*metadata\.annotations$",
        real=r'^\{"node\.alpha\.kubernetes\.io/ttl":"0"\}$',
        ours=r"^\(absent\)$",
    ),
    Known(
        id="K42",
        where=r", (Endpoints|EndpointSlice) .*metadata\.annotations$",
        real=r"^\(absent\)$",
        ours=r'^\{"endpoints\.kubernetes\.io/last-change-trigger-time":"<time>"\}$',
    ),
    Known(
        id="K43",
        where=r", Deployment .*status\.conditions\[\d\]\.(reason|message)$",
        real="^(NewReplicaSetCreated|Created new replica set .*)$",
        ours="^(ReplicaSetUpdated|ReplicaSet .* is progressing.)$",
        is_chance=True,
    ),
    Known(
        id="K44",
        scenario=_CLAIMS,
        where=r"^event$|conditions\[0\]\.message$",
        real=r"Claim.*\. not found|claim.*\. not found",
    ),
    Known(id="K44", scenario=_CLAIMS, where="^event$", ours=r"laim.*\. preemption: 0/1 nodes are available"),
    Known(id="K45", scenario="^svc-pod-on-no-node$", where=", Endpoints web$", real=r"^\(missing\)$"),
)


def unexpected(differences: Iterable[Difference]) -> list[Difference]:
    return [difference for difference in differences if not any(known.matches(difference) for known in KNOWN)]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
