"""Does an expression make sense for the types it is about, and what does each part of it mean.

The answer is kept beside the tree: the type of every node, and for every call the overloads it can be (one, unless
parts are ``dyn``). All mistakes are reported, each once, in the order of the text and in the API server's words.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from heliostat.embedded.cel.declarations import Functions, Overload
from heliostat.embedded.cel.errors import CompileError, Issue
from heliostat.embedded.cel.folds import BOOLEAN_FOLDS, fold_result, fold_variables
from heliostat.embedded.cel.static_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Bindings,
    Type,
    is_dynamic,
    list_of,
    map_of,
    optional_of,
    type_of,
)
from heliostat.embedded.cel.syntax import (
    Call,
    Fold,
    ListLiteral,
    Literal,
    MapLiteral,
    Name,
    Node,
    OptionalMap,
    Select,
)
from heliostat.embedded.cel.values import Uint

_LITERALS: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}


class Checked(Struct, frozen=True):
    tree: Node
    types: dict[Node, Type]
    overloads: dict[Node, tuple[Overload, ...]]
    variables: frozenset[str]  # the names from outside that are used
    type_names: dict[Node, str]  # nodes that name a type, such as ``int`` or ``net.IP``

    @property
    def kind(self) -> Type:
        return self.types[self.tree]


def check(
    source: str, tree: Node, variables: Mapping[str, Type], functions: Functions, types: Mapping[str, Type]
) -> Checked:
    """Raises ``CompileError`` with every mistake found."""
    checker = _Checker(variables, functions, types)
    checker.visit(tree)
    if checker.issues:
        raise CompileError(source, sorted(checker.issues, key=lambda issue: issue.position))
    return checker.finish(tree)


class _Checker:
    def __init__(self, variables: Mapping[str, Type], functions: Functions, types: Mapping[str, Type]) -> None:
        self.issues: list[Issue] = []
        self._variables = variables
        self._functions = functions
        self._known_types = types
        self._bindings = Bindings()
        self._locals: list[tuple[str, Type]] = []
        self._types: dict[Node, Type] = {}
        self._overloads: dict[Node, tuple[Overload, ...]] = {}
        self._type_names: dict[Node, str] = {}
        self._used: set[str] = set()
        self._visitors: dict[type, Callable[[Any], Type]] = {
            Literal: self._literal,
            Name: self._name,
            Select: self._select,
            Call: self._call,
            ListLiteral: self._list,
            MapLiteral: self._map,
            Fold: self._fold,
            OptionalMap: self._optional_map,
        }

    def finish(self, tree: Node) -> Checked:
        types = {node: self._bindings.resolve(kind, is_final=True) for node, kind in self._types.items()}
        return Checked(tree, types, self._overloads, frozenset(self._used), self._type_names)

    def visit(self, node: Node) -> Type:
        kind = self._types[node] = self._visitors[type(node)](node)
        return kind

    def _report(self, position: int, message: str) -> Type:
        self.issues.append(Issue(position, message))
        return ERROR

    def _literal(self, node: Literal) -> Type:
        return _LITERALS[type(node.value)]

    def _name(self, node: Name) -> Type:
        for name, kind in reversed(self._locals):
            if name == node.name:
                return kind
        if node.name in self._variables:
            self._used.add(node.name)
            return self._variables[node.name]
        if node.name in self._known_types:
            self._type_names[node] = node.name
            return type_of(self._known_types[node.name])
        return self._report(node.position, f"undeclared reference to '{node.name}' (in container '')")

    def _select(self, node: Select) -> Type:
        path = self._dotted(node)
        if path in self._known_types and not node.is_test:
            self._type_names[node] = path
            return type_of(self._known_types[path])
        operand = self._bindings.resolve(self.visit(node.operand))
        is_optional = operand.name == "optional_type"
        field = self._field_type(node, self._bindings.resolve(operand.params[0]) if is_optional else operand)
        if node.is_test:
            return BOOL
        return optional_of(field) if is_optional or node.is_optional else field

    def _field_type(self, node: Select, operand: Type) -> Type:
        if is_dynamic(operand) or operand.is_variable:
            return ERROR if operand == ERROR else DYN
        if operand.name == "map":
            return operand.params[1]
        if operand.data is None or not operand.data.is_object:
            return self._report(node.position, f"type '{self._show(operand)}' does not support field selection")
        field = operand.data.field(node.field)
        return self._report(node.position, f"undefined field '{node.field}'") if field is None else field.kind

    def _call(self, node: Call) -> Type:
        if node.function in ("_&&_", "_||_"):
            for arg in node.args:
                self._expect_bool(arg)
            return BOOL
        path = self._dotted(node.target) if node.target is not None else ""
        if path and f"{path}.{node.function}" in self._functions:
            return self._resolve(node, f"{path}.{node.function}", node.args, is_member=False)
        args = node.args if node.target is None else (node.target, *node.args)
        return self._resolve(node, node.function, args, is_member=node.target is not None)

    def _resolve(self, node: Call, function: str, args: tuple[Node, ...], *, is_member: bool) -> Type:
        kinds = tuple(self.visit(arg) for arg in args)
        if function not in self._functions:
            return self._report(node.position, f"undeclared reference to '{function}' (in container '')")
        if ERROR in kinds:
            return ERROR
        matching: list[Overload] = []
        result: Type | None = None
        for overload in self._functions[function]:
            if overload.is_member != is_member:
                continue
            *params, returned = self._bindings.fresh((*overload.params, overload.result))
            if self._bindings.try_fit(tuple(params), kinds):
                matching.append(overload)
                returned = self._bindings.resolve(returned)
                result = returned if result is None or result == returned else DYN
        if result is None:
            return self._report(node.position, self._no_overload(function, kinds, is_member=is_member))
        self._overloads[node] = tuple(matching)
        is_list_sum = function == "_+_" and kinds[0].name == "list" and kinds[0].data is not None
        return kinds[0] if is_list_sum else result

    def _list(self, node: ListLiteral) -> Type:
        kinds = [self._item(item, index in node.optional) for index, item in enumerate(node.items)]
        return list_of(self._bindings.join(kinds) if kinds else self._bindings.fresh_variable())

    def _map(self, node: MapLiteral) -> Type:
        keys = [self.visit(entry.key) for entry in node.entries]
        values = [self._item(entry.value, entry.is_optional) for entry in node.entries]
        if not keys:
            return map_of(self._bindings.fresh_variable(), self._bindings.fresh_variable())
        return map_of(self._bindings.join(keys), self._bindings.join(values))

    def _item(self, node: Node, is_optional: bool) -> Type:
        kind = self.visit(node)
        if not is_optional:
            return kind
        inner = self._bindings.fresh_variable()
        if not self._bindings.try_fit((optional_of(inner),), (kind,)):
            shown = self._show(kind)
            return self._report(node.position, f"expected type 'optional_type({shown})' but found '{shown}'")
        return self._bindings.resolve(inner)

    def _fold(self, node: Fold) -> Type:
        kind = self._bindings.resolve(self.visit(node.range))
        variables = fold_variables(kind, has_two=node.second is not None)
        if variables is None:
            problem = f"expression of type '{self._show(kind)}' cannot be range of a comprehension"
            self._report(node.range.position, f"{problem} (must be list, map, or dynamic)")
            variables = (ERROR, ERROR)
        names = (node.first,) if node.second is None else (node.first, node.second)
        self._locals += zip(names, variables, strict=False)
        result = self._fold_body(node, variables)
        del self._locals[-len(names) :]
        return result

    def _fold_body(self, node: Fold, variables: tuple[Type, Type]) -> Type:
        if node.macro in BOOLEAN_FOLDS:
            self._expect_bool(node.body)
            return BOOL
        where = BOOL if node.where is None else self.visit(node.where)
        body = self.visit(node.body)
        if node.macro in ("filter", "exists_one"):
            where, body = body, variables[0]
        result = fold_result(node.macro, variables[0], self._bindings.resolve(body))
        if result is None:
            kinds = (map_of(DYN, DYN), body)
            return self._report(node.position, self._no_overload("cel.@mapInsert", kinds, is_member=False))
        if not self._bindings.try_fit((BOOL,), (where,)):
            step = INT if node.macro == "exists_one" else result
            return self._report(node.position, self._no_overload("_?_:_", (where, step, step), is_member=False))
        return result

    def _optional_map(self, node: OptionalMap) -> Type:
        kind = self.visit(node.target)
        inner = self._bindings.fresh_variable()
        if not self._bindings.try_fit((optional_of(inner),), (kind,)):
            inner = self._report(node.position, self._no_overload("hasValue", (kind,), is_member=True))
        self._locals.append((node.variable, self._bindings.resolve(inner)))
        body = self.visit(node.body)
        self._locals.pop()
        if not node.is_flat:
            return optional_of(body)
        if not self._bindings.try_fit((optional_of(self._bindings.fresh_variable()),), (body,)):
            kinds = (BOOL, body, optional_of(DYN))
            return self._report(node.position, self._no_overload("_?_:_", kinds, is_member=False))
        return body

    def _expect_bool(self, node: Node) -> None:
        kind = self.visit(node)
        if not self._bindings.try_fit((BOOL,), (kind,)):
            self._report(node.position, f"expected type 'bool' but found '{self._show(kind)}'")

    def _no_overload(self, function: str, kinds: tuple[Type, ...], *, is_member: bool) -> str:
        shown = [self._show(kind) for kind in kinds]
        args = f"{shown[0]}.({', '.join(shown[1:])})" if is_member else f"({', '.join(shown)})"
        return f"found no matching overload for '{function}' applied to '{args}'"

    def _show(self, kind: Type) -> str:
        return str(self._bindings.resolve(kind, is_final=True))

    def _dotted(self, node: Node) -> str:
        """``a.b.c`` as one name; empty when it is more than names, or starts with a variable."""
        if isinstance(node, Name):
            is_local = node.name in self._variables or any(name == node.name for name, _ in self._locals)
            return "" if is_local else node.name
        if isinstance(node, Select) and not (node.is_optional or node.is_test):
            outer = self._dotted(node.operand)
            return f"{outer}.{node.field}" if outer else ""
        return ""
