"""The differences that are meant, each with the id under which docs/differences-kubernetes.md gives its reason.

A row matches by regular expressions that must be found in the sequence's name, the request, the place and both values.
What takes a look at whole answers (K1, who owned what before the first apply; K7, versions that only move owners) is a
function. A row says what differs, not where it was met, so that it holds for sequences that are made anew.
"""

import re

from msgspec import Struct

from conformance.differ import Difference, compare
from conformance.model import Json, Sequence
from conformance.moved_owners import moved_objects, without_moved_owners
from conformance.recording import Recording
from conformance.report import parts_states

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
# K1: what the real server does not count as the creator's: admission's own, and what a scale of nothing takes away.
_SET_BY_OTHERS = re.compile(r"\.spec\.(tolerations|clusterIPs?|replicas|ports\[[^]]*\]\.(targetPort|nodePort))")
_EMPTIED = {".spec.podSelector", ".rules"}  # K1: always written, so that nobody can tell that somebody has emptied it
_SHOWN_EMPTY = "(`selector` does not match template `labels`|either `defaultBackend` or `rules` must be specified)"


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
    Known(  # an object of a refused patch that has lost its managedFields is not masked on the other side
        id="K1",
        request="^PATCH",
        where=r"message$",
        expected=r'Invalid value: "\{',
        actual='Invalid value: "<object>": ',
    ),
    Known(
        id="K20",
        request="^DELETE ",
        where="^status$",
        expected="^409 .*Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta",
        actual="^200",
    ),
    Known(
        id="K21",
        sequence="^crd-life$",
        where=r"^body\.resources\[lamps\]\.shortNames$",
        expected=r"^\(absent\)$",
    ),
    Known(
        id="K22",
        sequence="^list-kinds-of-answers$",
        where=r"^body\.message$",
        expected="application/vnd.kubernetes.protobuf",
    ),
    Known(id="K23", sequence="^discovery$", request="^GET /version$", where=r"^body\.(compiler|git|goVersion)"),
    Known(id="K24", sequence="^discovery$", where=r"^body\.resources\(order\)$", expected="'widgets', .*'gadgets'"),
    Known(
        id="K25",
        sequence="^paths-not-served$",
        request="^GET /api/v1/namespaces//replicationcontrollers$",
        where="^status$",
    ),
    Known(
        id="K37",
        request="^PATCH ",
        where="^status$",
        actual=r"^400 .*json: cannot unmarshal number -?\d+ into Go struct field \S+ of type int(32|64)",
    ),
    Known(
        id="K6",
        request="resourcequotas",
        where=r"^body\.status\.(hard|used)",
        expected=r"^\(absent\)$",
    ),
    Known(  # what a write of such a status then does not change
        id="K6",
        request="resourcequotas/",
        where=r"^body\.metadata\.resourceVersion$",
        expected=r"^<version \d+>$",
        actual=r"^<version \d+>$",
    ),
    Known(
        id="K30",
        request="/jobs/",
        where=r"^body\.(message|details\.causes\[\d+\]\.message)$",
        expected=r'Invalid value: \{("(labels|annotations)":\{[^{}]*\},)*"Spec":\{"Volumes":.*field is immutable',
        actual=r'Invalid value: \{"metadata":\{.*"spec":\{.*field is immutable',
    ),
    Known(
        id="K31",
        request="^(POST|PUT|PATCH) ",
        where=r"^body\.(message|details\.causes\[\d+\]\.message)$",
        expected=rf"Invalid value: (\{{\}}|\[\]): {_SHOWN_EMPTY}",
        actual=rf"Invalid value: null: {_SHOWN_EMPTY}",
    ),
    Known(  # in an answer that shows an object as it was never kept
        id="K31",
        request="^(POST|PUT|PATCH) ",
        where=r"^body\.",
        expected=r"^(\[\]|\{\})$",
        actual="^None$",
    ),
)


def unexplained(sequence: Sequence, real: Recording, own: Recording) -> list[Difference]:
    """What differs and is not meant; after a known difference that left other objects behind, nothing more is told."""
    left: list[Difference] = []
    parted: int | None = None
    moved = moved_objects(sequence, real)
    for difference in compare(sequence, *without_moved_owners(sequence, real, own)):
        if parted is not None and difference.step > parted:
            break
        answers = (real.steps[difference.step], own.steps[difference.step])
        is_meant = is_known(difference) or _is_held_up(difference, moved) or _is_told_of_the_gone(difference, *answers)
        if not (is_meant or _is_owned_from_the_start(*answers) or _is_owned_by_two(difference, *answers)):
            left.append(difference)
        elif parts_states(difference):
            parted = difference.step
    return left


def _is_held_up(difference: Difference, moved: set[str]) -> bool:
    """K7: a version that only the real server has made is in the way of a write that names the one before."""
    path = difference.request.partition(" ")[2].partition(" ")[0].partition("?")[0]
    if difference.where != "status" or path.rpartition("/")[2] not in moved:
        return False
    is_conflict = str(difference.expected).startswith("409 ") and MODIFIED in str(difference.expected)
    return is_conflict and str(difference.actual).startswith(("200", "422"))


def _is_owned_from_the_start(real: Json, own: Json) -> bool:
    """K1: when nobody has applied before, all that is there belongs to whoever made the object."""
    left, right = _conflicting_fields(real), _conflicting_fields(own)
    return left != right and left - right <= _EMPTIED and all(map(_SET_BY_OTHERS.fullmatch, right - left))


def _is_owned_by_two(difference: Difference, real: Json, own: Json) -> bool:
    """K1: who made an object and who has changed it since its first apply are two owners to us, always."""
    left, right = _conflicting_fields(real), _conflicting_fields(own)
    return difference.where == "body.message" and left == right != set()


def _is_told_of_the_gone(difference: Difference, real: Json, own: Json) -> bool:
    """K38: the real server warns about a patch of what its cache still had, and then does not find it."""
    is_absent = real.get("status") == own.get("status") == 404
    return difference.where == "warnings" and is_absent and difference.request.startswith("PATCH ")


def _conflicting_fields(answer: Json) -> set[str]:
    body = answer.get("body")
    details = body.get("details") if isinstance(body, dict) else None
    causes = details.get("causes") if isinstance(details, dict) else None
    return {cause["field"] for cause in causes or () if "conflict with <earlier>" in cause["message"]}


def is_known(difference: Difference) -> bool:
    return any(known.matches(difference) for known in KNOWN)
