"""Which message a kind is and which fields it has, from a table that ``tools/generate_protobuf_table.py`` writes.

The table is read when the first body in protobuf comes, and a message of it is decoded when it is first met.
"""

from functools import cache
from typing import Literal, TypeAlias

import msgspec

_TABLE = __file__.rpartition("/")[0] + "/data/protobuf.json"

# one: what is there is shown · optional: a zero counts as absent · list, map: repeated, with string keys
Shape: TypeAlias = Literal["one", "optional", "list", "map"]


class Field(msgspec.Struct, frozen=True, array_like=True):
    number: int
    name: str  # in JSON; "" for a message whose fields belong to the object around it
    type: str  # a scalar or the name of a message
    shape: Shape = "one"


class _Table(msgspec.Struct, frozen=True):
    version: str
    kinds: dict[str, str]
    messages: dict[str, msgspec.Raw]


def find_message(api_version: str, kind: str) -> str | None:
    """The message of a kind, such as ``core.v1.Pod``. Options of deletions belong to every version."""
    return "meta.v1.DeleteOptions" if kind == "DeleteOptions" else _read_table().kinds.get(f"{api_version} {kind}")


@cache
def message_fields(message: str) -> dict[int, Field]:
    """The fields by number; KeyError for a name that the table does not have."""
    fields = msgspec.json.decode(_read_table().messages[message], type=list[Field])
    return {field.number: field for field in fields}


def message_names() -> tuple[str, ...]:
    return tuple(_read_table().messages)


@cache
def _read_table() -> _Table:
    with open(_TABLE, "rb") as file:  # noqa: PTH123  pathlib costs 7 ms of every start
        return msgspec.json.decode(file.read(), type=_Table)
