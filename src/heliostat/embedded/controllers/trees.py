"""Structs as JSON trees: lists where the structs have tuples, so that trees compare with those of the API."""

from typing import Any

import msgspec


def tree_of(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))
