"""The ``fieldPath`` of a rule: where below the rule's own place a failure is reported.

Steps are ``.name`` or ``['name']``; every one must exist in the schema. Lists have no place in it.
"""

import re

from msgspec import Struct

from heliostat.kube.schema import JsonSchema

_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPath(Struct, frozen=True):
    keys: tuple[str, ...]
    text: str  # as the API server writes it


def read_field_path(text: str, schema: JsonSchema) -> FieldPath | None:
    """None when the text is no path or leads to nothing."""
    keys: list[str] = []
    shown = ""
    position = 0
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None or not all(found in _ESCAPED for found in _ESCAPE.findall(step[2] or "")):
            return None
        key = step[1] or _ESCAPE.sub(lambda found: _ESCAPED[found[1]], step[2])
        properties, values = schema.get("properties"), schema.get("additionalProperties")
        if properties:
            if key not in properties:
                return None
            schema, shown = properties[key], f"{shown}.{key}" if shown else key
        elif isinstance(values, dict):
            schema, shown = values, f"{shown}[{key}]"
        else:
            return None
        keys.append(key)
        position = step.end()
    return FieldPath(tuple(keys), shown)
