"""Schemas that combine others: ``allOf``, ``anyOf``, ``oneOf`` and ``not``.

Their parts only restrict a value further; which fields exist is said by the schema around them. The ``anyOf`` of an
int-or-string field repeats its type and is skipped.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from heliostat.kube.schema_refs import JsonSchema
from heliostat.kube.schema_values import Finding

Breaks: TypeAlias = Callable[[Any, JsonSchema], bool]

COMBINATIONS = ("allOf", "anyOf", "oneOf", "not")


def choice_findings(value: Any, schema: JsonSchema, breaks: Breaks) -> Iterator[Finding]:
    if "allOf" in schema and any(breaks(value, part) for part in schema["allOf"]):
        yield "schema.allOf", "does not fulfil all of the conditions set for it", _fix(schema["allOf"])
    any_of = [] if "x-kubernetes-int-or-string" in schema else schema.get("anyOf", [])
    if any_of and all(breaks(value, part) for part in any_of):
        yield "schema.anyOf", "fulfils none of the conditions it could fulfil", _fix(any_of)
    if "oneOf" in schema:
        fulfilled = sum(not breaks(value, part) for part in schema["oneOf"])
        if fulfilled != 1:
            yield "schema.oneOf", f"fulfils {fulfilled} conditions of which it must fulfil one", _fix(schema["oneOf"])
    if "not" in schema and not breaks(value, schema["not"]):
        yield "schema.not", "is what it must not be", _fix([schema["not"]])


def _fix(parts: list[JsonSchema]) -> str:
    fields = sorted({name for part in parts for name in part.get("required", ())})
    return f"look at the fields {', '.join(fields)}" if fields else "compare it with the kind's schema"
