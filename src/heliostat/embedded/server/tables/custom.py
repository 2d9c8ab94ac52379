"""The columns a CustomResourceDefinition asks for: paths into the object, and what its type makes of the value.

Rules: a cell is the first value of its path; a value that does not fit its column's type leaves the cell empty; text
columns show anything, trees as JSON; dates show how long ago.
"""

from typing import Any

from heliostat.embedded.server import resources
from heliostat.embedded.server.tables.columns import NAME, Cell, Column, Columns
from heliostat.embedded.server.tables.durations import age
from heliostat.kube.go_text import go_float, go_json
from heliostat.kube.jsonpath import JsonPathError, parse_jsonpath
from heliostat.kube.jsontree import JsonObject

_NO_VALUE = "<no value>"


def custom_columns(given: tuple[resources.Column, ...]) -> Columns:
    return (NAME, *(_build(column) for column in given))


def _build(given: resources.Column) -> Column:
    description = given.description or f"Custom resource definition column (in JSONPath format): {given.path}"
    return Column(given.name, _cell(given), given.type, given.format, given.priority, description)


def _cell(given: resources.Column) -> Cell:
    """A path that cannot be read gives empty cells: the CRD was accepted, so its objects must be shown."""
    try:
        path = parse_jsonpath(given.path)
    except JsonPathError:
        return lambda _tree, _now: None

    def cell(tree: JsonObject, now: float) -> Any:
        found = path.find(tree)
        return _value(found[0], given.type, now) if found else None

    return cell


def _value(value: Any, kind: str, now: float) -> Any:
    match kind:
        case "string":
            return _text(value)
        case "integer":
            return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return age(value, now) if isinstance(value, str) else None
    return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return _NO_VALUE
    return go_float(value) if isinstance(value, float) else go_json(value)
