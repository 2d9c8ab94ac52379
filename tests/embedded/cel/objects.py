"""Schemas with rules, and the problems of an object as plain lines."""

from typing import Any

from heliostat.embedded.cel import CompiledRules, check_rules, compile_rules
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema

STRING: JsonSchema = {"type": "string"}
INTEGER: JsonSchema = {"type": "integer"}


def rule(text: str, **more: Any) -> JsonObject:
    return {"rule": text, **more}


def with_rules(schema: JsonSchema, *rules: JsonObject) -> JsonSchema:
    return {**schema, "x-kubernetes-validations": list(rules)}


def an_object(*rules: JsonObject, **fields: JsonSchema) -> JsonSchema:
    """An object with these fields, and the rules about it."""
    schema: JsonSchema = {"type": "object", "properties": fields}
    return with_rules(schema, *rules) if rules else schema


def resource(spec: JsonSchema) -> JsonSchema:
    return {"type": "object", "properties": {"spec": spec}}


def compiled(spec: JsonSchema) -> CompiledRules:
    """The rules of a resource with this spec; they must be sound."""
    rules = compile_rules(resource(spec))
    assert rules.problems == ()
    return rules


def broken(spec: JsonSchema, new: Any, old: Any = None) -> list[str]:
    """What an object with this spec breaks: ``field: message``, warnings marked."""
    problems = check_rules(compiled(spec), {"spec": new}, None if old is None else {"spec": old})
    marks = {"warning": "warning: ", "error": ""}
    return [f"{marks[problem.severity]}{problem.field}: {problem.problem}" for problem in problems]


def refusals(spec: JsonSchema) -> list[str]:
    """Why a definition with this spec is refused."""
    problems = compile_rules(resource(spec), "schema").problems
    return [f"{problem.field.removeprefix('schema.properties[spec].')}: {problem.problem}" for problem in problems]
