"""The rules of a schema, compiled: a tree of the places that have rules, and what is wrong with the rules themselves.

The tree follows the schema only where rules are, so checking an object costs nothing elsewhere. Problems are those for
which the API server refuses a CustomResourceDefinition: a rule that does not compile, is not a condition, needs an old
value where none can be found, or could cost too much. Rules inside allOf, anyOf, oneOf and not do not exist for it:
a schema with them is not structural, which is for others to say.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, structs

from heliostat.embedded.cel.budgets import Cardinality, Ledger, estimate_problem
from heliostat.embedded.cel.places import ROOT, Place, RuleProblem, at_field, at_key, build_problem
from heliostat.embedded.cel.readers import Reader, reader_for
from heliostat.embedded.cel.rule_compiler import CompiledRule, compile_rule
from heliostat.embedded.cel.rule_texts import text_problems
from heliostat.embedded.cel.schema_types import build_type, is_embedded
from heliostat.embedded.cel.static_types import Type
from heliostat.kube.schema import JsonSchema

_KEYWORD = "x-kubernetes-validations"
_NO_TYPE = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)


class RuleNode(Struct, frozen=True, eq=False):
    """A place of the schema with rules at it or below it."""

    schema: JsonSchema
    reader: Reader | None
    rules: tuple[CompiledRule, ...]
    fields: "dict[str, RuleNode]"
    items: "RuleNode | None"
    values: "RuleNode | None"  # of a map
    keys: tuple[str, ...]  # what identifies the items of a map list


class CompiledRules(Struct, frozen=True, eq=False):
    root: RuleNode | None  # None when the schema has no rules
    problems: tuple[RuleProblem, ...]  # why a CustomResourceDefinition with this schema is refused


class _Context(Struct, frozen=True):
    """What a place inherits from above."""

    place: Place
    cardinality: Cardinality = Cardinality()
    uncorrelatable: Place | None = None  # the outermost list above whose items cannot be found again
    is_resource: bool = False


def compile_rules(schema: JsonSchema, at: str = "spec.validation.openAPIV3Schema") -> CompiledRules:
    """``schema`` is the structural schema of a whole resource, ``at`` its place in the CustomResourceDefinition."""
    compiler = _SchemaCompiler(_schemas_with_rules(schema))
    place: Place = (ROOT, at, at)
    root = compiler.compile(schema, _Context(place, is_resource=True))
    return CompiledRules(root, (*compiler.problems, *compiler.ledger.problems(place)))


class _SchemaCompiler:
    def __init__(self, relevant: set[int]) -> None:
        self.problems: list[RuleProblem] = []
        self.ledger = Ledger()
        self._relevant = relevant

    def compile(self, schema: JsonSchema, context: _Context) -> RuleNode | None:
        if id(schema) not in self._relevant:
            return None
        before = len(self.problems)
        fields = dict(self._compile_fields(schema, context))
        items = self._compile_part(schema, "items", context)
        values = self._compile_part(schema, "additionalProperties", context)
        kind = build_type(schema, is_resource=context.is_resource) if schema.get(_KEYWORD) else None
        rules = self._compile_own(schema, kind, context, is_sound=len(self.problems) == before)
        is_map_list = schema.get("x-kubernetes-list-type") == "map"
        return RuleNode(
            schema=schema,
            reader=None if kind is None else reader_for(kind),
            rules=rules,
            fields=fields,
            items=items,
            values=values,
            keys=tuple(schema.get("x-kubernetes-list-map-keys", ())) if is_map_list else (),
        )

    def _compile_fields(self, schema: JsonSchema, context: _Context) -> Iterator[tuple[str, RuleNode]]:
        place = at_field(context.place, "properties")
        for name, field in schema.get("properties", {}).items():
            node = self.compile(field, _below(context, at_key(place, name), schema, field))
            if node is not None:
                yield name, node

    def _compile_part(self, schema: JsonSchema, keyword: str, context: _Context) -> RuleNode | None:
        """The items of a list or the values of a map."""
        part = schema.get(keyword)
        if not isinstance(part, dict):
            return None
        below = _below(context, at_field(context.place, keyword), schema, part)
        if keyword == "items" and schema.get("x-kubernetes-list-type") != "map" and below.uncorrelatable is None:
            below = structs.replace(below, uncorrelatable=context.place)
        return self.compile(part, below)

    def _compile_own(
        self, schema: JsonSchema, kind: Type | None, context: _Context, *, is_sound: bool
    ) -> tuple[CompiledRule, ...]:
        """The rules at this place; they are compiled only when nothing is wrong with texts here or below."""
        rules = schema.get(_KEYWORD) or ()
        place = at_field(context.place, _KEYWORD)
        found = [p for i, rule in enumerate(rules) for p in text_problems(rule, schema, at_key(place, i))]
        self.problems += found
        if found or not rules or not is_sound:
            return ()
        if kind is None:
            self.problems.append(build_problem(place, _NO_TYPE, "give the schema a type", reason="InternalError"))
            return ()
        compiled = (
            self._compile_rule(rule, kind, schema, at_key(place, index), context) for index, rule in enumerate(rules)
        )
        return tuple(rule for rule in compiled if rule is not None)

    def _compile_rule(
        self, rule: JsonSchema, kind: Type, schema: JsonSchema, place: Place, context: _Context
    ) -> CompiledRule | None:
        result = compile_rule(rule, kind, schema, place, context.uncorrelatable)
        cost = context.cardinality.times(result.cost, schema)
        self._enter(cost, "estimated rule cost", at_field(place, "rule"))
        self.problems += result.problems
        if result.message_cost is not None:
            self._enter(result.message_cost, "estimated messageExpression cost", at_field(place, "messageExpression"))
        return result.rule

    def _enter(self, cost: int, name: str, place: Place) -> None:
        self.ledger.enter(cost, place)
        problem = estimate_problem(name, cost, place)
        if problem is not None:
            self.problems.append(problem)


def _below(context: _Context, place: Place, schema: JsonSchema, part: JsonSchema) -> _Context:
    return _Context(place, context.cardinality.inside(schema), context.uncorrelatable, is_embedded(part))


def _schemas_with_rules(schema: JsonSchema) -> set[int]:
    """The ids of the schemas with rules at them or below them: one walk, because schemas are large.

    One object may stand at several places, so every way up from a rule is gone to its end.
    """
    above: list[tuple[JsonSchema, tuple[Any, ...]]] = [(schema, ())]
    relevant: set[int] = set()
    while above:
        part, parents = above.pop()
        if _KEYWORD in part:
            chain: tuple[Any, ...] = (part, parents)
            while chain:
                relevant.add(id(chain[0]))
                chain = chain[1]
        above += [(child, (part, parents)) for child in _children(part)]
    return relevant


def _children(schema: JsonSchema) -> list[JsonSchema]:
    inner = [schema.get("items"), schema.get("additionalProperties")]
    return [*schema.get("properties", {}).values(), *(part for part in inner if isinstance(part, dict))]
