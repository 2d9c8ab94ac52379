"""What a rule's own fields must look like, before anything is compiled: texts, reason, path."""

from collections.abc import Iterator
from typing import Any

from heliostat.embedded.cel.field_paths import read_field_path
from heliostat.embedded.cel.places import Place, RuleProblem, at_field, build_problem, quoted
from heliostat.kube.go_text import go_json
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema

REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def text_problems(rule: JsonObject, schema: JsonSchema, place: Place) -> Iterator[RuleProblem]:
    yield from _message_problems(rule, place)
    expression = _text(rule, "messageExpression")
    if expression and not expression.strip():
        yield _required(at_field(place, "messageExpression"), "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason is not None and reason not in REASONS:
        supported = ", ".join(quoted(known) for known in REASONS)
        yield build_problem(
            at_field(place, "reason"),
            f"supported values: {supported}",
            "use one of the supported reasons, or leave it out",
            value=quoted(str(reason)),
            reason="FieldValueNotSupported",
        )
    yield from _path_problems(_text(rule, "fieldPath"), schema, at_field(place, "fieldPath"))


def _message_problems(rule: JsonObject, place: Place) -> Iterator[RuleProblem]:
    """The first that applies."""
    text, message = _text(rule, "rule").strip(), _text(rule, "message")
    at_message = at_field(place, "message")
    if not text:
        yield _required(at_field(place, "rule"), "rule is not specified")
    elif message and not message.strip():
        yield _invalid(at_message, message, "must be non-empty if specified")
    elif _has_line_break(message.strip()):
        yield _invalid(at_message, message, "must not contain line breaks")
    elif _has_line_break(text) and not message.strip():
        yield _required(at_message, "message must be specified if rule contains line breaks")


def _path_problems(path: str, schema: JsonSchema, place: Place) -> Iterator[RuleProblem]:
    if path and not path.strip():
        yield _invalid(place, path, "must be non-empty if specified")
    if _has_line_break(path):
        yield _invalid(place, path, "must not contain line breaks")
    if path and read_field_path(path, schema) is None:
        yield _invalid(place, path, "must be a valid path")


def show_rule(rule: JsonObject) -> str:
    """The whole rule as the API server prints it in messages."""
    shown: dict[str, Any] = {
        "Rule": _text(rule, "rule"),
        "Message": _text(rule, "message"),
        "MessageExpression": _text(rule, "messageExpression"),
        "Reason": rule.get("reason"),
        "FieldPath": _text(rule, "fieldPath"),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return "{" + ",".join(f'"{key}":{go_json(value)}' for key, value in shown.items()) + "}"


def _text(rule: JsonObject, key: str) -> str:
    value = rule.get(key)
    return value if isinstance(value, str) else ""


def _has_line_break(text: str) -> bool:
    return "\n" in text or "\r" in text


def _invalid(place: Place, value: str, detail: str) -> RuleProblem:
    return build_problem(place, detail, "correct this text of the rule", value=quoted(value))


def _required(place: Place, detail: str) -> RuleProblem:
    return build_problem(place, detail, "add the missing text", reason="FieldValueRequired")
