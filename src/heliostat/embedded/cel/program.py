"""From a checked expression to a program: one Python function per node, put together once, run often.

What does not depend on data is computed here: constants, regular expressions, sets for membership. Everything that
depends only on types is decided here too, so that running a rule is nothing but calls of small functions.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.cel.checker import Checked
from heliostat.embedded.cel.closures_access import (
    MISSING,
    build_field,
    build_field_test,
    build_index,
    build_member,
    build_member_test,
    build_optional_field,
    build_optional_index,
    build_variable,
)
from heliostat.embedded.cel.closures_call import (
    build_call,
    build_choice,
    build_equality_call,
    build_fallback,
    build_logic,
    build_match,
    build_membership,
    build_optional_map,
    build_search,
)
from heliostat.embedded.cel.closures_fold import FOLDS, Walk, build_bind
from heliostat.embedded.cel.closures_literal import build_list, build_map, fold_constant
from heliostat.embedded.cel.equality import build_addition
from heliostat.embedded.cel.folds import fold_variables
from heliostat.embedded.cel.frames import COST, FIRST_LOCAL, OLD_SELF, SELF, Closure, Frame
from heliostat.embedded.cel.library_text import pattern_of
from heliostat.embedded.cel.readers import lift, needs_lifting, reader_for
from heliostat.embedded.cel.static_types import has_dynamic_part, is_dynamic
from heliostat.embedded.cel.syntax import (
    Call,
    Fold,
    ListLiteral,
    MapLiteral,
    Name,
    Node,
    OptionalMap,
    Select,
    is_mentioned,
)

_Build: TypeAlias = Callable[[Any, int], Closure]

_VARIABLES = {"self": SELF, "oldSelf": OLD_SELF}
_UNLIFTED = frozenset(("size", "_[_]", "_[?_]"))


class Program(Struct, frozen=True, eq=False):
    run: Closure
    spare: tuple[None, ...]  # room for the variables of macros

    def frame(self, value: Any, old_value: Any, limit: int) -> Frame:
        return [0, limit, value, old_value, *self.spare]


def build_program(checked: Checked) -> Program:
    """Raises ``CelError`` when a part that is known already has no value, such as ``int('x')``."""
    builder = _Builder(checked)
    run = builder.build(checked.tree)
    return Program(run, (None,) * (builder.room - FIRST_LOCAL))


class _Builder:
    def __init__(self, checked: Checked) -> None:
        self.room = FIRST_LOCAL
        self._types = checked.types
        self._checked = checked
        self._locals: list[tuple[str, int]] = []
        self._builders: dict[type, _Build] = {
            Name: self._name,
            Select: self._select,
            Call: self._call,
            ListLiteral: self._list,
            MapLiteral: self._map,
            Fold: self._fold,
            OptionalMap: self._optional_map,
        }

    def build(self, node: Node, toll: int = 1) -> Closure:
        """``toll`` is what the variable at the start of a path costs: nothing inside a conditional or an index."""
        constant = self._constant(node)
        if constant is not MISSING:
            return lambda _: constant
        return self._builders[type(node)](node, toll)

    def _constant(self, node: Node) -> Any:
        return fold_constant(node, self._checked)

    def _name(self, node: Name, toll: int) -> Closure:
        slots = [slot for name, slot in self._locals if name == node.name]
        return build_variable(slots[-1] if slots else _VARIABLES[node.name], toll)

    def _base(self, node: Node, toll: int) -> Closure:
        """What a path goes on from: a path itself, or a value on which the path starts anew."""
        if _is_path(node) and self._constant(node) is MISSING:
            return self.build(node, toll)
        closure = self.build(node)
        if toll == 0 or (isinstance(node, Call) and node.function == "_?_:_"):
            return closure

        def with_toll(frame: Frame) -> Any:
            frame[COST] += toll
            return closure(frame)

        return with_toll

    def _select(self, node: Select, toll: int) -> Closure:
        kind = self._types[node.operand]
        is_optional = kind.name == "optional_type"
        inner = kind.params[0] if is_optional else kind
        operand = self._base(node.operand, 1 if node.is_test else toll)
        data = inner.data
        if data is not None and data.is_object and not is_dynamic(inner):
            field = data.field(node.field)
            key, reader = (field.key, reader_for(field.kind)) if field is not None else (node.field, None)
            if is_optional or node.is_optional:
                return build_optional_field(operand, key, reader, is_test=node.is_test)
            return build_field_test(operand, key) if node.is_test else build_field(operand, key, node.field, reader)
        reader = reader_for(inner.params[1]) if inner.name == "map" and data is not None else None
        if node.is_test:
            return build_member_test(operand, node.field)
        if is_optional or node.is_optional:
            return build_optional_index(operand, lambda _: node.field, reader)
        return build_member(operand, node.field, reader)

    def _call(self, node: Call, toll: int) -> Closure:
        special = self._special_call(node, toll)
        if special is not None:
            return special
        overloads = self._checked.overloads[node]
        args = node.args if node.target is None or not overloads[0].is_member else (node.target, *node.args)
        kinds = [self._types[arg] for arg in args]
        closures = [self._argument(node, arg) for arg in args]
        if node.function == "matches" and isinstance(pattern := self._constant(args[1]), str):
            return build_match(closures[0], pattern, overloads[0].price)
        if node.function in ("find", "findAll") and isinstance(pattern := self._constant(args[1]), str):
            pattern_of(pattern)  # a pattern that cannot be read is an error of the rule, not of the object
        return build_call(overloads, closures, kinds)

    def _special_call(self, node: Call, toll: int) -> Closure | None:
        """Operators that do more than call a function."""
        match node.function:
            case "_&&_" | "_||_":
                return build_logic([self.build(arg) for arg in node.args], decisive=node.function == "_||_")
            case "_?_:_":
                return build_choice(self.build(node.args[0]), self._branch(node, 1), self._branch(node, 2))
            case "_[_]" | "_[?_]":
                return self._index(node, toll)
            case "_==_" | "_!=_":
                left, right = (self._argument(node, arg) for arg in node.args)
                kinds = (self._types[node.args[0]], self._types[node.args[1]])
                return build_equality_call(left, right, kinds, is_negated=node.function == "_!=_")
            case "@in":
                return self._membership(node)
            case "_+_":
                return self._addition(node)
            case "or" | "orValue" if node.target is not None:
                target, other = self.build(node.target), self.build(node.args[0])
                return build_fallback(target, other, is_unwrapped=node.function == "orValue")
        return None

    def _branch(self, node: Call, index: int) -> Closure:
        branch = node.args[index]
        closure = self.build(branch, 0) if _is_path(branch) else self.build(branch)
        return self._lifted(closure, branch) if is_dynamic(self._types[node]) else closure

    def _index(self, node: Call, toll: int) -> Closure:
        container, key = node.args
        kind = self._types[container]
        is_optional = kind.name == "optional_type"
        inner = kind.params[0] if is_optional else kind
        reader = reader_for(inner.params[-1]) if inner.data is not None and inner.params else None
        operand = self._base(container, toll)
        index = self.build(key, 0) if _is_path(key) else self.build(key)
        build = build_optional_index if is_optional or node.function == "_[?_]" else build_index
        return build(operand, index, reader)

    def _membership(self, node: Call) -> Closure | None:
        item, items = node.args
        constant = self._constant(items)
        if isinstance(constant, list):
            found = build_membership(self._argument(node, item), constant)
            if found is not None:
                return found
        kind = self._types[items]
        if kind.name != "list":
            return None
        inner = kind.params[0]
        if inner.data is not None:
            return build_search(self._argument(node, item), self._lifted(self.build(items), items), inner)
        return build_search(self._argument(node, item), self._argument(node, items), inner)

    def _addition(self, node: Call) -> Closure | None:
        """Lists that are sets or maps for their schema add up as such."""
        kind = self._types[node.args[0]]
        run = build_addition(kind) if kind.name == "list" else None
        if run is None:
            return None
        left, right = self.build(node.args[0]), self.build(node.args[1])

        def add(frame: Frame) -> Any:
            first, second = left(frame), right(frame)
            frame[COST] += 1
            return run(first, second)

        return add

    def _argument(self, node: Call, arg: Node) -> Closure:
        """An argument, converted throughout when code that knows no types will look into it."""
        closure = self.build(arg)
        if node.function in _UNLIFTED or (node.function in ("_==_", "_!=_", "@in") and not self._has_dynamic(node)):
            return closure
        return self._lifted(closure, arg)

    def _lifted(self, closure: Closure, node: Node) -> Closure:
        kind = self._types[node]
        return (lambda frame: lift(closure(frame), kind)) if needs_lifting(kind) else closure

    def _has_dynamic(self, node: Call) -> bool:
        return any(has_dynamic_part(self._types[arg]) for arg in node.args)

    def _list(self, node: ListLiteral, _toll: int) -> Closure:
        is_mixed = has_dynamic_part(self._types[node])
        items = [self._lifted(self.build(item), item) if is_mixed else self.build(item) for item in node.items]
        return build_list(items, node.optional)

    def _map(self, node: MapLiteral, _toll: int) -> Closure:
        is_mixed = has_dynamic_part(self._types[node])
        values = [self.build(entry.value) for entry in node.entries]
        if is_mixed:
            values = [self._lifted(value, entry.value) for value, entry in zip(values, node.entries, strict=True)]
        keys = [self.build(entry.key) for entry in node.entries]
        return build_map(keys, values, [entry.is_optional for entry in node.entries])

    def _fold(self, node: Fold, _toll: int) -> Closure:
        kind = self._types[node.range]
        walked = self.build(node.range)
        variables = fold_variables(kind, has_two=node.second is not None)
        is_raw = kind.data is not None  # what expressions put together is converted already
        readers = tuple(reader_for(variable) if is_raw else None for variable in variables or ())
        names = (node.first,) if node.second is None else (node.first, node.second)
        slots = [self._reserve(name) for name in names]
        bind = build_bind(slots[0], slots[1] if len(slots) == 2 else None, (readers[0], readers[1]))
        where = None if node.where is None else self.build(node.where)
        item_cost = 12 if self._constant(node.body) is MISSING else 2  # the list around a constant is one, too
        walk = Walk(walked, bind, len(slots) == 2, self.build(node.body), where, slots[0], item_cost)
        del self._locals[-len(slots) :]
        return FOLDS[node.macro](walk)

    def _optional_map(self, node: OptionalMap, _toll: int) -> Closure:
        target = self.build(node.target)
        slot = self._reserve(node.variable)
        body = self.build(node.body)
        self._locals.pop()
        is_used = is_mentioned(node.variable, node.body)
        return build_optional_map(target, slot, body, is_flat=node.is_flat, is_used=is_used)

    def _reserve(self, name: str) -> int:
        slot = FIRST_LOCAL + len(self._locals)
        self._locals.append((name, slot))
        self.room = max(self.room, slot + 1)
        return slot


def _is_path(node: Node) -> bool:
    """A variable with selections and indices, or a choice between such."""
    if isinstance(node, Select):
        return not node.is_test
    return isinstance(node, Name) or (isinstance(node, Call) and node.function in ("_[_]", "_[?_]", "_?_:_"))
