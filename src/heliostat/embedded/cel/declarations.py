"""The functions of the language as data: each overload with its types, what it does and what it costs.

A declaration is written as it is read: ``string.contains(string) -> bool`` is a method, ``sets.contains(list(A),
list(A)) -> bool`` a function with a dotted name. Capital letters are type variables. The libraries are tables of such
lines; ``Functions`` collects them by name.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.cel.prices import UNIT, Price
from heliostat.embedded.cel.static_types import BOOL as BOOLEAN
from heliostat.embedded.cel.static_types import BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type

Implementation: TypeAlias = Callable[..., Any]

_NAMED = {
    "bool": BOOLEAN,
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "dyn": DYN,
    "quantity": Type("kubernetes.Quantity"),
    "semver": Type("kubernetes.Semver"),
    "url": Type("kubernetes.URL"),
    "named_format": Type("kubernetes.NamedFormat"),
    "ip_address": Type("net.IP"),
    "network": Type("net.CIDR"),
}
_CONSTRUCTORS = {"list": "list", "map": "map", "optional": "optional_type", "type": "type"}
_WORD = re.compile(r"\s*([A-Za-z_]\w*|[(),])")


class Overload(Struct, frozen=True, eq=False):
    function: str
    is_member: bool
    params: tuple[Type, ...]  # of a method, the receiver first
    result: Type
    run: Implementation
    price: Price = UNIT


class Declaration(Struct, frozen=True):
    """A line of a library: the signatures that share one implementation."""

    signatures: tuple[str, ...]
    run: Implementation
    price: Price = UNIT
    is_member: bool = True


def method(*signatures: str, run: Implementation, price: Price = UNIT) -> Declaration:
    return Declaration(signatures, run, price)


def function(*signatures: str, run: Implementation, price: Price = UNIT) -> Declaration:
    return Declaration(signatures, run, price, is_member=False)


class Functions:
    """Every overload by function name."""

    def __init__(self, libraries: Iterable[Iterable[Declaration]]) -> None:
        self._overloads: dict[str, list[Overload]] = {}
        for library in libraries:
            for declaration in library:
                for signature in declaration.signatures:
                    overload = _read_signature(signature, declaration)
                    self._overloads.setdefault(overload.function, []).append(overload)

    def __contains__(self, name: str) -> bool:
        return name in self._overloads

    def __getitem__(self, name: str) -> list[Overload]:
        return self._overloads[name]


def _read_signature(text: str, declaration: Declaration) -> Overload:
    head, _, result = text.partition(" -> ")
    if declaration.is_member:
        receiver, name, args = _split_method(head)
        params = (receiver, *args)
    else:
        name, _, rest = head.partition("(")
        params = tuple(_read_types(rest.rstrip().removesuffix(")")))
    return Overload(name, declaration.is_member, params, _read_type(result), declaration.run, declaration.price)


def _split_method(head: str) -> tuple[Type, str, list[Type]]:
    """The receiver ends at the last dot before the last opening parenthesis that belongs to the method."""
    dot = head.rindex(".")
    name, _, rest = head[dot + 1 :].partition("(")
    return _read_type(head[:dot]), name, _read_types(rest.rstrip().removesuffix(")"))


def _read_type(text: str) -> Type:
    return _read_types(text)[0]


def _read_types(text: str) -> list[Type]:
    """A comma separated list of types."""
    stack: list[tuple[str, list[Type]]] = [("", [])]
    words = [found[1] for found in _WORD.finditer(text)]
    for index, word in enumerate(words):
        if word == ")":
            name, params = stack.pop()
            stack[-1][1].append(Type(_CONSTRUCTORS[name], tuple(params)))
        elif word not in "(,":
            if words[index + 1 : index + 2] == ["("]:
                stack.append((word, []))
            else:
                stack[-1][1].append(_NAMED.get(word) or Type(word, is_variable=True))
    return stack[0][1]
