"""One object as the row of its table, for tests of what stands in the cells."""

from typing import Any

from embedded.server.inprocess import NOW
from heliostat.embedded.server.registry import Registry
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.tables.table import TablePrinter
from heliostat.kube.timestamps import format_timestamp

REGISTRY = Registry(with_previews=True)


def resource(group: str, version: str, plural: str) -> Resource:
    found = REGISTRY.find(group, version, plural)
    assert found is not None
    return found


def row(kind: Resource, tree: dict[str, Any]) -> dict[str, Any]:
    """Cells by the names of their columns."""
    complete = {"metadata": {"name": "x", "creationTimestamp": ago(90)}, **tree}
    table = TablePrinter(kind, kind.kind).build_table_of_one(complete, NOW)
    names = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(names, table["rows"][0]["cells"], strict=True))


def ago(seconds: float) -> str:
    return format_timestamp(NOW - seconds)
