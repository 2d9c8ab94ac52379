"""One rule from text to programs, with everything the API server would refuse it for.

A rule that uses ``oldSelf`` is a transition rule. ``optionalOldSelf`` makes the old value an optional, so that the rule
also runs where there was none.
"""

from msgspec import Struct

from heliostat.embedded.cel.errors import CelError, CompileError
from heliostat.embedded.cel.estimate import estimate_cost
from heliostat.embedded.cel.field_paths import FieldPath, read_field_path
from heliostat.embedded.cel.language import Expression, compile_expression
from heliostat.embedded.cel.places import Place, RuleProblem, at_field, build_problem, quoted, text_of
from heliostat.embedded.cel.program import Program
from heliostat.embedded.cel.rule_texts import show_rule
from heliostat.embedded.cel.static_types import BOOL, STRING, Type, optional_of
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema

_FIX = "correct the expression; its fields must be those of the schema at this place"


class CompiledRule(Struct, frozen=True, eq=False):
    program: Program
    uses_old_self: bool
    has_optional_old: bool
    text: str  # what names the rule in messages: its own message, or the expression
    failure: str  # what is reported when it does not hold
    expression: str
    reason: str
    message: Program | None = None
    field_path: FieldPath | None = None


class Compilation(Struct, frozen=True):
    """``rule`` is None when it does not compile; costs are the most an evaluation can cost."""

    rule: CompiledRule | None
    problems: tuple[RuleProblem, ...]
    cost: int = 0
    message_cost: int | None = None


def compile_rule(
    rule: JsonObject, kind: Type, schema: JsonSchema, place: Place, uncorrelatable: Place | None
) -> Compilation:
    """``uncorrelatable`` is the list or map above whose old parts cannot be found."""
    is_optional = bool(rule.get("optionalOldSelf"))
    variables = {"self": kind, "oldSelf": optional_of(kind) if is_optional else kind}
    try:
        condition = _compile_condition(rule["rule"], variables)
    except _RuleError as error:
        problem = _invalid(rule, at_field(place, "rule"), str(error))
        return Compilation(None, (problem, *_needless_optional(rule, place)))
    problems = _old_self_problems(rule, condition, place, uncorrelatable)
    message: Expression | None = None
    if (rule.get("messageExpression") or "").strip():
        try:
            message = _compile_message(rule["messageExpression"], variables)
        except _RuleError as error:
            problems.append(_invalid(rule, at_field(place, "messageExpression"), str(error)))
    return Compilation(
        _build(rule, condition, message, schema),
        tuple(problems),
        estimate_cost(condition.checked, kind).most,
        None if message is None else estimate_cost(message.checked, kind).most,
    )


class _RuleError(Exception):
    """The text is the detail the API server gives."""


def _compile(source: str, variables: dict[str, Type], prefix: str) -> Expression:
    try:
        return compile_expression(source, variables)
    except CompileError as error:
        raise _RuleError(f"{prefix}compilation failed: {error}") from None
    except CelError as error:
        instantiation = "instantiation" if prefix else "program instantiation"
        raise _RuleError(f"{prefix}{instantiation} failed: {error}") from None


def _compile_condition(source: str, variables: dict[str, Type]) -> Expression:
    expression = _compile(source, variables, "")
    if expression.checked.kind != BOOL:
        raise _RuleError("cel expression must evaluate to a bool")
    return expression


def _compile_message(source: str, variables: dict[str, Type]) -> Expression:
    expression = _compile(source, variables, "messageExpression ")
    if expression.checked.kind != STRING:
        raise _RuleError("messageExpression must evaluate to a string")
    return expression


def _old_self_problems(
    rule: JsonObject, condition: Expression, place: Place, uncorrelatable: Place | None
) -> list[RuleProblem]:
    if "oldSelf" not in condition.checked.variables:
        return _needless_optional(rule, place)
    if uncorrelatable is None:
        return []
    detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {text_of(uncorrelatable)}"
    fix = "make the list a map list (x-kubernetes-list-type: map), or move the rule above it"
    return [build_problem(at_field(place, "rule"), detail, fix, value=quoted(rule["rule"]))]


def _needless_optional(rule: JsonObject, place: Place) -> list[RuleProblem]:
    if rule.get("optionalOldSelf") is None:
        return []
    value = "true" if rule["optionalOldSelf"] else "false"
    detail = "may not be set if oldSelf is not used in rule"
    return [build_problem(at_field(place, "optionalOldSelf"), detail, "leave it out", value=value)]


def _build(rule: JsonObject, condition: Expression, message: Expression | None, schema: JsonSchema) -> CompiledRule:
    own_message = (rule.get("message") or "").strip()
    text = own_message or rule["rule"].strip()
    return CompiledRule(
        program=condition.program,
        uses_old_self="oldSelf" in condition.checked.variables,
        has_optional_old=bool(rule.get("optionalOldSelf")),
        text=text,
        failure=own_message or f"failed rule: {text}",
        expression=rule["rule"].strip(),
        reason=rule.get("reason") or "FieldValueInvalid",
        message=None if message is None else message.program,
        field_path=read_field_path(rule["fieldPath"], schema) if rule.get("fieldPath") else None,
    )


def _invalid(rule: JsonObject, place: Place, detail: str) -> RuleProblem:
    return build_problem(place, detail, _FIX, value=show_rule(rule))
