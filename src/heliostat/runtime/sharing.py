"""Equal parts of many objects are kept once: the labels of a cluster's Pods, their containers, the name of an image.

Rules: a dict or tuple is shared as a whole or, where it differs, by the texts inside; a pool that is full begins anew,
so it does not grow with the number of objects; a pool of wholes that finds too little rests for a while. Objects are
changed only here, between their decoding and their first reader, and stay equal to what they were.

It runs for every event of every watch, so the function for each struct is written as source, field after field, as
dataclasses do: a loop over the fields takes five times as long.
"""

from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, inspect
from msgspec.structs import force_setattr

from heliostat.kube.objects import Object

T = TypeVar("T", bound=Object)

MOST_TEXTS = 4_096
MOST_WHOLES = 1_024
_RESTS = 16  # times as many values as a pool holds
_WORTH = 8  # a pool must find one in so many, or it rests
_EMPTY: dict[str, Any] = {}

_Texts: TypeAlias = dict[str, str]
_Share: TypeAlias = Callable[[Any], Any]  # what to keep in the place of a value that is not empty

_encode = msgspec.msgpack.Encoder().encode

_OF_TEXT = """
    value = item.{name}
    if value:
        kept = known(value)
        if kept is None:
            texts[value] = value
        elif kept is not value:
            put(item, "{name}", kept)"""
_OF_STRUCT = """
    value = item.{name}
    if value is not None:
        share_{name}(value)"""
_OF_WHOLE = """
    value = item.{name}
    if value:
        kept = share_{name}(value)
        if kept is not value:
            put(item, "{name}", kept)"""
_OF_DICT = f"""{_OF_WHOLE}
    elif value is not None:
        put(item, "{{name}}", empty)"""


class Sharing(Generic[T]):
    """For objects of one shape."""

    def __init__(self, shape: type[T]) -> None:
        self._texts: _Texts = {}
        self._share = _share_fields(_inspect(shape), self._texts)

    def share(self, item: T) -> None:
        """Its parts may be those of other objects from now on."""
        if len(self._texts) > MOST_TEXTS:
            self._texts.clear()
        self._share(item)


class _Wholes:
    """Dicts or tuples of one field: one that is known, or the value itself with what is inside shared."""

    __slots__ = ("_found", "_known", "_resting", "_share_inside")

    def __init__(self, share_inside: _Share) -> None:
        self._share_inside = share_inside
        self._known: dict[bytes, Any] = {}
        self._found = 0
        self._resting = 0  # for so many more values

    def share(self, value: Any) -> Any:
        if self._resting:
            self._resting -= 1
            return self._share_inside(value)
        key = _encode(value)
        known = self._known.get(key)
        if known is None:
            return self._keep(key, self._share_inside(value))
        self._found += 1
        return known

    def _keep(self, key: bytes, value: Any) -> Any:
        if len(self._known) >= MOST_WHOLES:
            self._resting = 0 if self._found * _WORTH >= MOST_WHOLES else MOST_WHOLES * _RESTS
            self._found = 0
            self._known.clear()
        self._known[key] = value
        return value


def _share_fields(shape: inspect.Type, texts: _Texts) -> _Share:
    """For structs of this shape, in place."""
    if not isinstance(shape, inspect.StructType):
        raise TypeError(f"{shape} is not a struct")
    source = "def share(item):\n    pass"
    names: dict[str, Any] = {"texts": texts, "known": texts.get, "put": force_setattr, "empty": _EMPTY}
    for field in shape.fields:
        template, share = _part_of(_without_none(field.type), texts)
        source += template.format(name=field.name)
        names[f"share_{field.name}"] = share
    exec(_compile(source), names)  # noqa: S102 - made of the templates above and of the names of our own fields
    made: _Share = names["share"]
    return made


@cache
def _inspect(shape: type[Object]) -> inspect.Type:
    return inspect.type_info(shape)


@cache
def _compile(source: str) -> CodeType:
    """Shapes are few and the same for every watch that begins."""
    return compile(source, "<sharing>", "exec")


def _part_of(shape: inspect.Type, texts: _Texts) -> tuple[str, _Share | None]:
    """How a field of this type is shared; numbers and the like are not."""
    match shape:
        case inspect.StrType():
            return _OF_TEXT, None
        case inspect.StructType():
            return _OF_STRUCT, _share_fields(shape, texts)
        case inspect.DictType(key_type=inspect.StrType(), value_type=inspect.StrType()):
            return _OF_DICT, _Wholes(_share_texts(texts)).share
        case inspect.DictType():
            return _OF_DICT, _Wholes(_as_it_is).share
        case inspect.VarTupleType(item_type=inspect.StructType() as item):
            return _OF_WHOLE, _Wholes(_share_items(_share_fields(item, texts))).share
        case inspect.VarTupleType():
            return _OF_WHOLE, _Wholes(_as_it_is).share
    return "", None


def _share_texts(texts: _Texts) -> _Share:
    known = texts.setdefault

    def share(value: _Texts) -> _Texts:
        return {known(key, key): known(text, text) for key, text in value.items()}

    return share


def _share_items(share_item: _Share) -> _Share:
    def share(value: tuple[Struct, ...]) -> tuple[Struct, ...]:
        for item in value:
            share_item(item)
        return value

    return share


def _as_it_is(value: Any) -> Any:
    return value


def _without_none(shape: inspect.Type) -> inspect.Type:
    """The one type beside None, if there is only one."""
    if not isinstance(shape, inspect.UnionType):
        return shape
    types = [each for each in shape.types if not isinstance(each, inspect.NoneType)]
    return types[0] if len(types) == 1 else shape
