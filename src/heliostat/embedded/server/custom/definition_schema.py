"""Is the schema of a CustomResourceDefinition structural: does every value have a type, and only what goes with it.

Rules: the root is an object; every field and every item has a type, unless it takes integers and texts or keeps unknown
fields; properties and additionalProperties exclude each other; patterns can be read and defaults fit their own schema.
CEL rules are judged by ``cel``.
"""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import forbidden, invalid, not_supported, required
from heliostat.embedded.refusals import Cause
from heliostat.embedded.server.changes.schema_causes import schema_causes
from heliostat.kube.regex_syntax import RegexError, parse_regex
from heliostat.kube.schema import JsonSchema, check, no_definitions

_TYPES = ("array", "boolean", "integer", "number", "object", "string")


def structural_causes(schema: JsonSchema, at: str) -> Iterator[Cause]:
    root = schema.get("type", "")
    if root and root != "object":
        yield invalid(f"{at}.type", root, "must be object at the root")
        return
    if not root:
        yield required(f"{at}.type", "must not be empty at the root")
    yield from _node_causes(schema, at, "the root")


def _node_causes(node: JsonSchema, at: str, what: str) -> Iterator[Cause]:
    yield from _type_causes(node, at, what)
    if node.get("properties") and node.get("additionalProperties"):
        yield forbidden(f"{at}.additionalProperties", "additionalProperties and properties are mutual exclusive")
    if node.get("type") == "array" and node.get("items") is None:
        yield required(f"{at}.items", "must be specified")
    if "pattern" in node:
        yield from _pattern_causes(node["pattern"], f"{at}.pattern")
    if node.get("default") is not None and node.get("type") in _TYPES:
        problems = [problem for problem in check(node["default"], node) if problem.severity == "error"]
        yield from schema_causes(problems, node["default"], node, no_definitions, f"{at}.default")
    for name, child in (node.get("properties") or {}).items():
        yield from _node_causes(child, f"{at}.properties[{name}]", "specified object fields")
    for key, kind in (("additionalProperties", "specified object fields"), ("items", "specified array items")):
        if isinstance(node.get(key), dict):
            yield from _node_causes(node[key], f"{at}.{key}", kind)


def _type_causes(node: JsonSchema, at: str, what: str) -> Iterator[Cause]:
    kind = node.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported(f"{at}.type", kind, _TYPES)
    is_free = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
    if not kind and not is_free and what != "the root":
        yield required(f"{at}.type", f"must not be empty for {what}")


def _pattern_causes(pattern: str, at: str) -> Iterator[Cause]:
    try:
        parse_regex(pattern)
    except RegexError as error:
        yield invalid(at, pattern, f"must be a valid regular expression, but isn't: {error}")
