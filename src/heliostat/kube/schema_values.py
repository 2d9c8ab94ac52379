"""What one value breaks by itself: the schema keywords that are not about the values inside it.

Every finding is (rule, problem, how to fix it), found through one table from JSON type and keyword to a rule. Quoted
values are shortened: a megabyte in the wrong place must not become a megabyte of error message.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from heliostat.kube.jsontree import encode_json
from heliostat.kube.nearest import nearest_name
from heliostat.kube.pattern_words import QUANTITY, describe_form
from heliostat.kube.schema_patterns import is_date_time, is_match
from heliostat.kube.schema_refs import JsonSchema

Finding: TypeAlias = tuple[str, str, str]
ValueRule: TypeAlias = Callable[[Any, Any, JsonSchema], Finding | None]

JSON_TYPES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
TYPE_TEXTS = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "int-or-string": "an integer or a string",
}
INTEGER_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
LONGEST_QUOTE = 60


def json_type(value: Any) -> str:
    return JSON_TYPES.get(type(value), type(value).__name__)


def expected_type(schema: JsonSchema) -> str | None:
    """``int-or-string`` counts as a type; None when the schema takes any."""
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    return schema.get("type")


def is_of_type(value: Any, expected: str) -> bool:
    """The API server takes 1.0 for an integer, and never a boolean for a number."""
    found = JSON_TYPES.get(type(value))
    if found == expected:
        return True
    if expected == "int-or-string" and found in ("integer", "string"):
        return True
    if found == "number":
        return expected in ("integer", "int-or-string") and value == value // 1
    return found == "integer" and expected == "number"


def quote(value: Any) -> str:
    """The value as JSON, short enough for a sentence."""
    if isinstance(value, (dict, list)):
        return TYPE_TEXTS[json_type(value)]
    text = encode_json(value.encode(errors="replace").decode() if isinstance(value, str) else value).decode()
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1] + "…"


def wrong_type(value: Any, expected: str) -> Finding:
    wanted = TYPE_TEXTS.get(expected, expected)
    return "schema.type", f"must be {wanted}, not {_describe(value)}", _type_fix(value, expected, wanted)


def _describe(value: Any) -> str:
    if isinstance(value, (dict, list)) or value is None:
        return TYPE_TEXTS[json_type(value)]
    return f"the {json_type(value)} {quote(value)}"


def _type_fix(value: Any, expected: str, wanted: str) -> str:
    found = json_type(value)
    if expected in ("string", "int-or-string") and found in ("integer", "number", "boolean"):
        return f'put it in quotes: "{quote(value)}"'
    if expected in ("integer", "number") and found == "string" and value.lstrip("-").isdecimal():
        return f"remove the quotes: {value}"
    if expected == "boolean" and found == "string" and value.lower() in ("true", "false"):
        return f"remove the quotes: {value.lower()}"
    if expected == "array":
        return "write a list: one '- ' item per line"
    if expected == "object":
        return "write fields below it, one 'name: value' per line"
    return f"give it {wanted}"


def value_findings(value: Any, schema: JsonSchema) -> Iterator[Finding]:
    """What the keywords of ``schema`` say against ``value``, which is of the right type already."""
    rules = RULES[json_type(value)]
    for keyword, limit in schema.items():
        if keyword in rules:
            finding = rules[keyword](value, limit, schema)
            if finding:
                yield finding


def _enum(value: Any, allowed: list[Any], _schema: JsonSchema) -> Finding | None:
    if any(type(value) is type(choice) and value == choice for choice in allowed):
        return None
    choices = ", ".join(quote(choice) for choice in allowed)
    near = nearest_name(value, [c for c in allowed if isinstance(c, str)]) if isinstance(value, str) else None
    fix = f"write {quote(near)}" if near else f"use one of {choices}"
    return "schema.enum", f"{quote(value)} is not supported: it must be one of {choices}", fix


def _min_length(value: str, limit: int, _schema: JsonSchema) -> Finding | None:
    if len(value) >= limit:
        return None
    if limit == 1:
        return "schema.minLength", "must not be empty", "give it a value, or leave the field out"
    return "schema.minLength", f"must have at least {limit} characters", f"it has {len(value)}; write a longer text"


def _max_length(value: str, limit: int, _schema: JsonSchema) -> Finding | None:
    if len(value) <= limit:
        return None
    return "schema.maxLength", f"may have at most {limit} characters", f"it has {len(value)}; shorten it"


def _pattern(value: str, pattern: str, _schema: JsonSchema) -> Finding | None:
    if is_match(pattern, value):
        return None
    what = "is not a quantity" if pattern == QUANTITY else "does not have the right form"
    return "schema.pattern", f"{quote(value)} {what}", describe_form(pattern, value)


def _text_format(value: str, name: str, _schema: JsonSchema) -> Finding | None:
    if name != "date-time" or is_date_time(value):
        return None
    return "schema.format", f"{quote(value)} is not a date and time", 'write it like "2030-01-31T08:00:00Z"'


def _number_format(value: float, name: str, _schema: JsonSchema) -> Finding | None:
    low, high = INTEGER_RANGES.get(name, (value, value))
    if low <= value <= high:
        return None
    return "schema.format", f"{quote(value)} does not fit into {name}", f"use a number from {low} to {high}"


def _minimum(value: float, limit: float, schema: JsonSchema) -> Finding | None:
    exclusive = schema.get("exclusiveMinimum") is True
    if value > limit or (value == limit and not exclusive):
        return None
    bound = f"greater than {limit}" if exclusive else f"{limit} or more"
    return "schema.minimum", f"must be {bound}, not {quote(value)}", f"use a number that is {bound}"


def _maximum(value: float, limit: float, schema: JsonSchema) -> Finding | None:
    exclusive = schema.get("exclusiveMaximum") is True
    if value < limit or (value == limit and not exclusive):
        return None
    bound = f"less than {limit}" if exclusive else f"{limit} or less"
    return "schema.maximum", f"must be {bound}, not {quote(value)}", f"use a number that is {bound}"


def _multiple_of(value: float, step: float, _schema: JsonSchema) -> Finding | None:
    """The API server divides a whole number by the whole part of the step, and refuses it when there is none."""
    if isinstance(value, int):
        if step < 1:
            fix = "give it a fraction other than zero, or no step below 1 to its field"
            return "schema.whole-multiple", f"a whole number cannot be a multiple of {step} for the API server", fix
        step = int(step)
    if step > 0 and value % step == 0:
        return None
    return "schema.multipleOf", f"must be a multiple of {step}, not {quote(value)}", f"use a multiple of {step}"


def _min_items(value: list[Any], limit: int, _schema: JsonSchema) -> Finding | None:
    if len(value) >= limit:
        return None
    return "schema.minItems", f"must have at least {limit} item(s)", f"it has {len(value)}; add {limit - len(value)}"


def _max_items(value: list[Any], limit: int, _schema: JsonSchema) -> Finding | None:
    if len(value) <= limit:
        return None
    return "schema.maxItems", f"may have at most {limit} item(s)", f"it has {len(value)}; remove {len(value) - limit}"


def _min_properties(value: JsonSchema, limit: int, _schema: JsonSchema) -> Finding | None:
    if len(value) >= limit:
        return None
    return "schema.minProperties", f"must have at least {limit} field(s)", f"it has {len(value)}; add more"


def _max_properties(value: JsonSchema, limit: int, _schema: JsonSchema) -> Finding | None:
    if len(value) <= limit:
        return None
    return "schema.maxProperties", f"may have at most {limit} field(s)", f"it has {len(value)}; remove some"


_NUMBER_RULES: dict[str, ValueRule] = {
    "enum": _enum,
    "minimum": _minimum,
    "maximum": _maximum,
    "multipleOf": _multiple_of,
    "format": _number_format,
}
RULES: dict[str, dict[str, ValueRule]] = {
    "string": {
        "enum": _enum,
        "minLength": _min_length,
        "maxLength": _max_length,
        "pattern": _pattern,
        "format": _text_format,
    },
    "integer": _NUMBER_RULES,
    "number": _NUMBER_RULES,
    "boolean": {"enum": _enum},
    "null": {},
    "array": {"enum": _enum, "minItems": _min_items, "maxItems": _max_items},
    "object": {"enum": _enum, "minProperties": _min_properties, "maxProperties": _max_properties},
}
