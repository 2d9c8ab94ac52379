"""How much work rules may be, in all: the limits of a CustomResourceDefinition and of one object.

A rule below a list may run once per item, so its cost counts that often: as often as the lists above it allow, or as
the smallest items fit into the largest request.
"""

from msgspec import Struct

from heliostat.embedded.cel.places import Place, RuleProblem, build_problem
from heliostat.embedded.cel.schema_sizes import LARGEST_REQUEST, least_bytes
from heliostat.embedded.cel.values import MAX_UINT
from heliostat.kube.schema import JsonSchema

RULE_LIMIT = 1_000_000  # one evaluation
OBJECT_BUDGET = 10_000_000  # all evaluations for one object
ESTIMATE_LIMIT = 10_000_000  # one rule, as often as it may run, before any object is there
SCHEMA_LIMIT = 100_000_000  # all rules of a schema
_NAMED = 4  # so many of the dearest rules are named
_ADVICE = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength "
    "where arrays, maps, and strings are declared"
)


class Cardinality(Struct, frozen=True):
    """How often a place of the schema can occur in an object; None without a limit."""

    most: int | None = 1

    def inside(self, schema: JsonSchema) -> "Cardinality":
        """Of the parts of a value of this schema."""
        factor: int | None = 1
        if schema.get("type") == "array":
            factor = schema.get("maxItems")
        elif schema.get("type") == "object" and schema.get("additionalProperties"):
            factor = schema.get("maxProperties")
        if self.most is None or factor is None:
            return Cardinality(None)
        return Cardinality(min(self.most * max(0, int(factor)), MAX_UINT))

    def times(self, cost: int, schema: JsonSchema) -> int:
        """A rule's cost as often as it may run."""
        most = LARGEST_REQUEST // (least_bytes(schema) + 1) if self.most is None else self.most
        return min(cost * most, MAX_UINT)


class Ledger:
    """The estimates of a whole schema."""

    def __init__(self) -> None:
        self._total = 0
        self._dearest: list[tuple[int, Place]] = []

    def enter(self, cost: int, place: Place) -> None:
        self._total = min(self._total + cost, MAX_UINT)
        if cost >= SCHEMA_LIMIT // 100:
            self._dearest = sorted([*self._dearest, (cost, place)], key=lambda entry: -entry[0])[:_NAMED]

    def problems(self, schema_place: Place) -> list[RuleProblem]:
        if self._total <= SCHEMA_LIMIT:
            return []
        part = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        found = [_forbidden(place, part) for _, place in self._dearest]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*found, _forbidden(schema_place, _excess(name, self._total, SCHEMA_LIMIT))]


def estimate_problem(name: str, cost: int, place: Place) -> RuleProblem | None:
    if cost <= ESTIMATE_LIMIT:
        return None
    return _forbidden(place, _excess(name, cost, ESTIMATE_LIMIT))


def _forbidden(place: Place, detail: str) -> RuleProblem:
    return build_problem(place, detail, "set maxItems, maxProperties and maxLength", reason="FieldValueForbidden")


def _excess(name: str, cost: int, limit: int) -> str:
    times = cost / limit
    factor = "more than 100x" if times > 100 else f"{times:.6f}x" if times < 1.5 else f"{times:.1f}x"
    return f"{name} exceeds budget by factor of {factor} ({_ADVICE})"
