"""How many elements a value of a schema can have and how few bytes it takes, within the largest request.

Only the estimate of a rule's cost asks. Where the schema sets no limit, the request does.
"""

from typing import Any

from heliostat.kube.schema import JsonSchema

LARGEST_REQUEST = 3 * 1024 * 1024
_LONGEST_TEXTS = {"duration": 32, "date": 12, "date-time": 32}
_SHORTEST_TEXTS = {"duration": 3, "date": 12, "date-time": 21}
_SHORTEST = {"boolean": 4, "integer": 1, "number": 1, "array": 2}


def most_elements(schema: JsonSchema) -> int:
    """The largest size: characters of a text, items of a list, entries of a map; 0 where size has no meaning."""
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string") or kind == "string":
        return _most_characters(schema)
    if kind == "array":
        return _limit(schema, "maxItems", (LARGEST_REQUEST - 2) // (least_bytes(schema.get("items", {})) + 1))
    values = schema.get("additionalProperties")
    if kind == "object" and isinstance(values, dict):
        return _limit(schema, "maxProperties", (LARGEST_REQUEST - 2) // (least_bytes(values) + 6))
    return 0


def _most_characters(schema: JsonSchema) -> int:
    text_format = schema.get("format")
    if text_format in _LONGEST_TEXTS:
        return _LONGEST_TEXTS[text_format]
    if schema.get("maxLength") is not None:
        longest = max(0, int(schema["maxLength"]))
        return longest if text_format == "byte" else longest * 4  # bytes: a character may take four
    choices = [len(choice.encode()) for choice in schema.get("enum", ()) if isinstance(choice, str)]
    if choices and text_format != "byte" and not schema.get("x-kubernetes-int-or-string"):
        return max(choices)
    return LARGEST_REQUEST - 2


def _limit(schema: JsonSchema, keyword: str, otherwise: int) -> int:
    limit: Any = schema.get(keyword)
    return otherwise if limit is None else max(0, int(limit))


def least_bytes(schema: JsonSchema) -> int:
    """The shortest JSON of a value."""
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    kind = schema.get("type")
    if kind == "string":
        return _SHORTEST_TEXTS.get(schema.get("format", ""), 2)
    if kind != "object":
        return _SHORTEST.get(kind or "", 2)
    if isinstance(schema.get("additionalProperties"), dict):
        return 2
    properties = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if "default" not in properties.get(name, {"default": None})]
    return 2 + sum(len(name.encode()) + least_bytes(properties[name]) + 4 for name in required)
