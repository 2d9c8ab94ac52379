"""Tables as an API server prints them, and as a terminal shows them."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.explain.explanation import format_columns, one_line

ACCEPT = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"


class _Column(Struct, frozen=True):
    name: str
    priority: int = 0


class _Metadata(Struct, frozen=True):
    namespace: str = ""


class _Object(Struct, frozen=True):
    metadata: _Metadata = _Metadata()


class _Row(Struct, frozen=True):
    cells: list[Any] = []
    object: _Object = _Object()


class Table(Struct, frozen=True, rename="camel"):
    kind: str = ""
    column_definitions: list[_Column] | None = None
    rows: list[_Row] = []


def read_table(body: bytes) -> Table:
    return msgspec.json.decode(body, type=Table)


def format_table(table: Table, *, is_wide: bool = False, with_namespace: bool = False) -> Iterator[str]:
    """Lines, the headings first."""
    columns = table.column_definitions or []
    shown = [index for index, column in enumerate(columns) if is_wide or column.priority == 0]
    rows = [[columns[index].name.upper() for index in shown]]
    rows += [[_cell(row.cells[index]) for index in shown] for row in table.rows]
    if with_namespace:
        places = ["NAMESPACE", *(row.object.metadata.namespace for row in table.rows)]
        rows = [[place, *row] for place, row in zip(places, rows, strict=True)]
    return format_columns(rows)


def _cell(value: Any) -> str:
    return "<none>" if value is None else one_line(str(value))
