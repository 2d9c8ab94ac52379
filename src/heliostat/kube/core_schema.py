"""The schemas of Kubernetes' own kinds, from compact tables that ``tools/generate_core_schema.py`` writes.

Two tables: ``definition`` speaks about objects in the API (every built-in kind, with strategic merge keys), and
``template_definition`` about the core objects that custom kinds embed, as their CRDs describe them. Definitions refer
to each other by name (``$ref``), and each one is decoded when it is first asked for.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from heliostat.kube.schema_refs import JsonSchema

_DATA = __file__.rpartition("/")[0] + "/data"


class CoreKind(NamedTuple):
    """One kind that every Kubernetes API server serves."""

    api_version: str
    kind: str
    definition: str
    plural: str
    is_namespaced: bool


class _Table(msgspec.Struct, frozen=True):
    version: str
    kinds: tuple[CoreKind, ...]
    definitions: dict[str, msgspec.Raw]


def definition(name: str) -> JsonSchema:
    """The schema of ``core.v1.Pod`` and the like; KeyError for a name that no table has."""
    return _decode_definition("kinds.json", name)


def template_definition(name: str) -> JsonSchema:
    """The same for a core object inside a custom kind."""
    return _decode_definition("templates.json", name)


def kinds() -> tuple[CoreKind, ...]:
    """Every built-in kind, ordered by apiVersion and name."""
    return _read_table("kinds.json").kinds


def served_version() -> str:
    """The version of Kubernetes whose kinds these are, such as ``1.34``."""
    return _read_table("kinds.json").version


def raw_definitions() -> Mapping[str, msgspec.Raw]:
    """Every definition as it is kept, for who reads many of them once and wants none to stay decoded."""
    return _read_table("kinds.json").definitions


def find_kind(api_version: str, kind: str) -> CoreKind | None:
    return _kinds_by_name().get((api_version, kind))


@cache
def _kinds_by_name() -> dict[tuple[str, str], CoreKind]:
    return {(row.api_version, row.kind): row for row in kinds()}


@cache
def _decode_definition(table: str, name: str) -> JsonSchema:
    schema: JsonSchema = msgspec.json.decode(_read_table(table).definitions[name])
    return schema


@cache
def _read_table(name: str) -> _Table:
    with open(f"{_DATA}/{name}", "rb") as file:  # noqa: PTH123  pathlib costs 7 ms of every start
        return msgspec.json.decode(file.read(), type=_Table)
