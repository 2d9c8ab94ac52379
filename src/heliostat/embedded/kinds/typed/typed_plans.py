"""How objects, lists and maps are read: plans made from the schema table when they are first needed.

Zeros that are not pointers go, empty lists and maps go, fields that are always written come in. A field that the type
does not know is noted and left for the caller.
"""

from functools import cache
from typing import Any

from heliostat.embedded.kinds.typed.typed_fields import type_name, typed_fields
from heliostat.embedded.kinds.typed.typed_values import (
    JSON_NAMES,
    Anything,
    Base64,
    Integer,
    IntOrString,
    Number,
    Plan,
    QuantityText,
    Scalar,
    TimeText,
    TypedError,
    UnknownFields,
)
from heliostat.kube.core_schema import definition
from heliostat.kube.jsontree import JsonObject, copy_tree
from heliostat.kube.schema_refs import JsonSchema

RESOURCE_LIST = "v1.ResourceList"


class ListOf(Plan):
    def __init__(self, items: Plan, wanted: str, *, keeps_zero: bool) -> None:
        self.keeps_zero = keeps_zero
        self._items = items
        self._wanted = wanted

    def fit(self, value: Any, unknown: UnknownFields) -> Any:
        if type(value) is not list:
            raise TypedError(JSON_NAMES[type(value)], self._wanted)
        items = self._items
        fit, plain = items.fit, items.plain
        for index, item in enumerate(value):
            if type(item) is plain:
                continue
            fitted = _empty(items) if item is None else fit(item, unknown)
            if fitted is not item:
                value[index] = fitted
        return value


class MapOf(Plan):
    def __init__(self, values: Plan, wanted: str, *, keeps_zero: bool) -> None:
        self.keeps_zero = keeps_zero
        self._values = values
        self._wanted = wanted

    def fit(self, value: Any, unknown: UnknownFields) -> Any:
        if type(value) is not dict:
            raise TypedError(JSON_NAMES[type(value)], self._wanted)
        values = self._values
        fit, plain = values.fit, values.plain
        for name, item in value.items():
            if type(item) is plain:
                continue
            fitted = _empty(values) if item is None else fit(item, unknown)
            if fitted is not item:
                value[name] = fitted
        return value


def _empty(plan: Plan) -> Any:
    """What a null item becomes."""
    if isinstance(plan, Object):
        return plan.fit({}, [])
    if isinstance(plan, Integer):
        return 0
    if isinstance(plan, QuantityText):
        return "0"
    return "" if plan.plain is str or isinstance(plan, Base64) else None


class Object(Plan):
    """An object of a named definition; its fields are looked up when the first one is read."""

    def __init__(self, name: str) -> None:
        self._definition = name
        self._owner = name.rpartition(".")[2]
        self._wanted = ".".join(name.split(".")[-2:])
        self._fields: dict[str, Plan] | None = None
        self._filled: tuple[tuple[str, Any], ...] = ()

    def fit(self, value: Any, unknown: UnknownFields) -> Any:
        if type(value) is not dict:
            raise TypedError(JSON_NAMES[type(value)], self._wanted)
        fields = self._fields if self._fields is not None else self._look_up()
        dropped: list[str] = []
        for name, child in value.items():
            plan = fields.get(name)
            if plan is None:
                unknown.append((value, name))
                continue
            if child is not None and type(child) is not plan.plain:
                try:
                    fitted = plan.fit(child, unknown)
                except TypedError as error:
                    raise error.inside(self._owner, name) from None
                if fitted is not child:
                    value[name] = child = fitted
            if child is None or (not child and not plan.keeps_zero):
                dropped.append(name)
        for name in dropped:
            del value[name]
        self._fill(value)
        return value

    def _fill(self, value: JsonObject) -> None:
        for name, zero in self._filled:
            if name not in value:
                value[name] = copy_tree(zero) if type(zero) is dict else zero

    def _look_up(self) -> dict[str, Plan]:
        properties: dict[str, JsonSchema] = definition(self._definition).get("properties", {})
        facts = typed_fields(self._definition)
        fields = {
            name: _plan(schema, facts.types.get(name, ""), keeps_zero=_keeps_zero(name, facts.pointers, facts.always))
            for name, schema in properties.items()
        }
        filled: dict[str, Any] = {}
        for name, zero in facts.always.items():
            plan = fields[name]
            filled[name] = plan.fit({}, []) if zero == {} and isinstance(plan, Object) else zero
        for name, schema in properties.items():
            default = schema.get("default")
            if default or (default is not None and name in facts.pointers):
                filled[name] = default
        self._filled = tuple(filled.items())
        self._fields = fields
        return fields


def _keeps_zero(name: str, pointers: frozenset[str], always: dict[str, Any]) -> bool:
    return name in pointers or always.get(name) is not None


_SPECIAL: dict[str, Plan] = {
    "IntOrString": IntOrString(),
    "Quantity": QuantityText(rounded=False),
    "meta.v1.Time": TimeText(micro=False),
    "meta.v1.MicroTime": TimeText(micro=True),
}
_ROUNDED = QuantityText(rounded=True)
_ANYTHING = Anything()


@cache
def object_plan(name: str) -> Plan:
    """The plan of a definition such as ``core.v1.Pod``."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    return Object(name) if "properties" in definition(name) else _ANYTHING


def _plan(schema: JsonSchema, named: str, *, keeps_zero: bool) -> Plan:
    if "$ref" in schema:
        return object_plan(schema["$ref"])
    wanted = named or type_name(schema)
    match schema.get("type"):
        case "string":
            return Base64(keeps_zero=keeps_zero) if schema.get("format") == "byte" else _text(wanted, keeps_zero)
        case "boolean":
            return Scalar(bool, wanted, keeps_zero=keeps_zero)
        case "integer":
            return Integer(wanted, keeps_zero=keeps_zero)
        case "number":
            return Number(keeps_zero=keeps_zero)
        case "array":
            item = wanted.removeprefix("[]") if wanted.startswith("[]") else ""
            return ListOf(_plan(schema["items"], item, keeps_zero=True), wanted, keeps_zero=False)
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return _map(schema["additionalProperties"], wanted)
    return _ANYTHING


def _text(wanted: str, keeps_zero: bool) -> Plan:
    return Scalar(str, wanted, keeps_zero=keeps_zero)


def _map(values: JsonSchema, wanted: str) -> Plan:
    if wanted == RESOURCE_LIST:
        return MapOf(_ROUNDED, wanted, keeps_zero=False)
    return MapOf(_plan(values, "", keeps_zero=True), wanted, keeps_zero=False)
