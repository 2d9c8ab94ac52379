"""The structural schema of a ray.io type, read off its struct: the types of its fields, and the markers beside them.

A struct becomes one definition, built when it is first asked for; a field that holds another struct or a core
Kubernetes object refers to it by name. ``heliostat.api.crds`` writes the definitions out into one tree;
``heliostat.api.documents`` checks with them as they are.
"""

from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from heliostat.api.markers import Core, Default, ListMap, ListType, Required, Rule, Schema
from heliostat.kube import core_schema
from heliostat.kube.schema_refs import JsonSchema

StructType = type[msgspec.Struct]

SCALARS: dict[Any, JsonSchema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}
ABSENT = (type(None), msgspec.UnsetType)

_structs: dict[str, StructType] = {}
_definitions: dict[str, JsonSchema] = {}


def reference_to(struct: StructType) -> JsonSchema:
    """A reference to the struct's definition, which need not be built yet."""
    name = f"{struct.__module__}.{struct.__qualname__}"
    _structs[name] = struct
    return {"$ref": name}


def definition(name: str) -> JsonSchema:
    """A definition by the name that a reference used: a ray.io struct's, or that of a core object."""
    if name not in _structs:
        return core_schema.template_definition(name)
    if name not in _definitions:
        _definitions[name] = build_struct_schema(_structs[name])
    return _definitions[name]


def build_struct_schema(struct: StructType) -> JsonSchema:
    properties = {}
    required = []
    for field in msgspec.structs.fields(struct):
        annotation, markers = split_markers(field.type)
        properties[field.encode_name] = build_field_schema(annotation, markers)
        if field.required or any(isinstance(marker, Required) for marker in markers):
            required.append(field.encode_name)
    schema: JsonSchema = {"type": "object", "properties": properties}
    return {**schema, "required": sorted(required)} if required else schema


def split_markers(annotation: Any) -> tuple[Any, list[Any]]:
    """The plain type, without "may be absent", and all markers around it, inner ones first."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        inner, markers = split_markers(arguments[0])
        return inner, [*markers, *arguments[1:]]
    present = [argument for argument in arguments if argument not in ABSENT]
    if len(present) == 1 and len(arguments) == 2:
        return split_markers(present[0])
    return annotation, []


def build_field_schema(annotation: Any, markers: list[Any]) -> JsonSchema:
    core = next((marker.definition for marker in markers if isinstance(marker, Core)), None)
    schema = dict(build_type_schema(annotation, core))
    rules = [{"message": marker.message, "rule": marker.rule} for marker in markers if isinstance(marker, Rule)]
    if rules:
        schema["x-kubernetes-validations"] = rules
    for marker in markers:
        schema.update(marker_keywords(marker))
    return schema


def build_type_schema(annotation: Any, core: str | None = None) -> JsonSchema:
    """``core`` names the definition of a JSON object, or of the items when the type is a list."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is list:
        return {"type": "array", "items": build_type_schema(arguments[0], core)}
    if core:
        return {"$ref": core}
    if origin is dict:
        return {"type": "object", "additionalProperties": build_field_schema(*split_markers(arguments[1]))}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    return SCALARS.get(annotation) or reference_to(annotation)


def marker_keywords(marker: Any) -> JsonSchema:
    match marker:
        case Schema():
            keywords: JsonSchema = msgspec.to_builtins(marker)
            return keywords
        case Default(value):
            return {"default": value}
        case ListMap(keys):
            return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
        case ListType(kind):
            return {"x-kubernetes-list-type": kind}
    return {}
