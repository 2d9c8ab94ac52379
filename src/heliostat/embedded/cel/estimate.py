"""What evaluating an expression can cost at most, known from the schema alone.

The API server refuses rules by this figure, so it is computed the way it does, simplifications included: a value has a
size when it is written in the rule, when a function's result has one, or when it lies on a path from ``self`` to a part
of the schema with a limit; any other size is unlimited. A path is the steps as text, lists and maps as ``@items``,
``@values`` and ``@keys``.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.cel.checker import Checked
from heliostat.embedded.cel.declarations import Overload
from heliostat.embedded.cel.prices import PER_CHARACTER
from heliostat.embedded.cel.ranges import ONE, UNKNOWN, ZERO, Argument, Quote, Range, exactly
from heliostat.embedded.cel.schema_sizes import most_elements
from heliostat.embedded.cel.static_types import Type
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
from heliostat.embedded.cel.values import MAX_UINT

PathText: TypeAlias = tuple[str, ...]

_LIST_COST, _MAP_COST = exactly(10), exactly(30)
_SCALARS = ("bool", "int", "uint", "double", "google.protobuf.Duration", "google.protobuf.Timestamp")
_SELECTABLE_FREE = ("optional_type", "dyn")  # selecting from these is not counted
_EMPTY = Range(MAX_UINT, 0)  # nothing yet: joins with anything
_OPAQUE_EQUALITY = {
    "net.IP": ONE,
    "net.CIDR": ONE,
    "kubernetes.Quantity": ONE,
    "kubernetes.Semver": ONE,
    "kubernetes.NamedFormat": Range(1, 64).scale(PER_CHARACTER),
}


class Entries(Struct, frozen=True):
    """How large the keys and the values of a list or map are."""

    keys: Range
    values: Range


class Estimate(Struct, frozen=True):
    cost: Range
    size: Range | None = None
    entries: Entries | None = None
    path: PathText = ()


class _Local(Struct, frozen=True):
    path: PathText
    size: Range | None


def estimate_cost(checked: Checked, root: Type) -> Range:
    return _Estimator(checked, root).visit(checked.tree).cost


class _Estimator:
    def __init__(self, checked: Checked, root: Type) -> None:
        self._checked = checked
        self._root = root
        self._locals: list[tuple[str, _Local]] = []
        self._visitors: dict[type, Callable[[Any], Estimate]] = {
            Literal: self._literal,
            Name: self._name,
            Select: self._select,
            Call: self._call,
            ListLiteral: self._list,
            MapLiteral: self._map,
            Fold: self._fold,
            OptionalMap: self._optional_map,
        }

    def visit(self, node: Node) -> Estimate:
        found = self._visitors[type(node)](node)
        if found.size is not None:
            return found
        return Estimate(found.cost, self._known_size(node, found.path), found.entries, found.path)

    def _known_size(self, node: Node, path: PathText) -> Range | None:
        """From the schema, from the type, or from the variable."""
        declared = self._declared_size(path)
        if declared is not None:
            return declared
        if _is_scalar(self._checked.types[node]):
            return ONE
        local = self._local(node.name) if isinstance(node, Name) else None
        return None if local is None else local.size

    def _declared_size(self, path: PathText) -> Range | None:
        """The first step is the variable, whatever it is: sizes are looked up from ``self``."""
        if not path:
            return None
        kind: Type | None = self._root
        for step in path[1:]:
            kind = _step_into(kind, step) if kind is not None else None
        if kind is None:
            return None
        return Range(0, 0 if kind.data is None else most_elements(kind.data.schema))

    def _local(self, name: str) -> _Local | None:
        return next((local for known, local in reversed(self._locals) if known == name), None)

    def _literal(self, node: Literal) -> Estimate:
        size = len(node.value) if isinstance(node.value, (str, bytes)) else 1
        return Estimate(ZERO, exactly(size))

    def _name(self, node: Name) -> Estimate:
        local = self._local(node.name)
        return Estimate(ONE, path=(node.name,) if local is None else local.path)

    def _select(self, node: Select) -> Estimate:
        if node in self._checked.type_names:
            return Estimate(ONE, path=(self._checked.type_names[node],))
        operand = self.visit(node.operand)
        if node.is_test:
            return Estimate(operand.cost + (ONE if node.is_optional else ZERO))
        if node.is_optional:
            return Estimate(operand.cost + ONE)
        is_free = self._checked.types[node.operand].name in _SELECTABLE_FREE
        return Estimate(operand.cost + (ZERO if is_free else ONE), path=(*operand.path, node.field))

    def _list(self, node: ListLiteral) -> Estimate:
        items = [self.visit(item) for item in node.items]
        values = _join([item.size or UNKNOWN for item in items])
        cost = _sum(item.cost for item in items) + _LIST_COST
        return Estimate(cost, exactly(len(items)), Entries(ONE, values))

    def _map(self, node: MapLiteral) -> Estimate:
        keys = [self.visit(entry.key) for entry in node.entries]
        values = [self.visit(entry.value) for entry in node.entries]
        cost = _sum(part.cost for part in (*keys, *values)) + _MAP_COST
        entries = Entries(_join([key.size or UNKNOWN for key in keys]), _join([v.size or UNKNOWN for v in values]))
        return Estimate(cost, exactly(len(keys)), entries)

    def _call(self, node: Call) -> Estimate:
        match node.function:
            case "_&&_" | "_||_":
                return self._logic(node)
            case "_?_:_":
                return self._choice(node)
            case "_[_]" | "_[?_]":
                return self._index(node)
            case "dyn":
                inner = self.visit(node.args[0])
                return Estimate(inner.cost + ONE, inner.size, inner.entries)
        overloads = self._checked.overloads[node]
        nodes = node.args if node.target is None or not overloads[0].is_member else (node.target, *node.args)
        args = [self.visit(arg) for arg in nodes]
        quotes = [self._quote(overload, nodes, args) for overload in overloads]
        cost = _join([quote.cost for quote in quotes]) + _sum(arg.cost for arg in args)
        sizes = [quote.size for quote in quotes if quote.size is not None]
        entries = _both(args[0].entries, args[1].entries) if node.function == "_+_" else None
        return Estimate(cost, _join(sizes) if sizes else None, entries)

    def _quote(self, overload: Overload, nodes: tuple[Node, ...], args: list[Estimate]) -> Quote:
        if overload.function in ("_==_", "_!=_"):
            fixed = _OPAQUE_EQUALITY.get(self._checked.types[nodes[0]].name)
            if fixed is not None and overload.function == "_==_":
                return Quote(fixed)
        return overload.price.estimate(*(self._argument(node, arg) for node, arg in zip(nodes, args, strict=True)))

    def _argument(self, node: Node, estimate: Estimate) -> Argument:
        items = self._declared_size((*estimate.path, "@items")) if estimate.path else None
        value = node.value if isinstance(node, Literal) else None
        return Argument(self._checked.types[node], estimate.size or UNKNOWN, items or UNKNOWN, value)

    def _logic(self, node: Call) -> Estimate:
        """At least the first term, at most all of them."""
        terms = [self.visit(arg).cost for arg in node.args]
        return Estimate(Range(terms[0].least, _sum(terms).most))

    def _choice(self, node: Call) -> Estimate:
        condition, then, otherwise = (self.visit(arg) for arg in node.args)
        size = (then.size or UNKNOWN) | (otherwise.size or UNKNOWN)
        cost = condition.cost + (then.cost | otherwise.cost)
        return Estimate(cost, size, _both(then.entries, otherwise.entries))

    def _index(self, node: Call) -> Estimate:
        container, key = (self.visit(arg) for arg in node.args)
        cost = container.cost + key.cost + ONE
        kind = self._checked.types[node.args[0]]
        if node.function == "_[?_]" or kind.name not in ("list", "map"):
            return Estimate(cost)
        size = container.entries.values if container.entries is not None else None
        return Estimate(cost, size, path=(*container.path, "@items" if kind.name == "list" else "@values"))

    def _fold(self, node: Fold) -> Estimate:
        walked = self.visit(node.range)
        count = walked.size or UNKNOWN
        kind = self._checked.types[node.range]
        names = self._fold_locals(node, walked, "list" if kind.name == "list" else "map")
        self._locals += names
        where = None if node.where is None else self.visit(node.where).cost
        body = self.visit(node.body)
        item = self.visit(Name(node.position, node.first)) if node.macro == "filter" else body
        del self._locals[-len(names) :]
        fixed, step = _fold_costs(node.macro, where, body.cost)
        cost = walked.cost + fixed + count * step
        if node.macro in ("all", "exists", "exists_one"):
            return Estimate(cost, ONE)
        if node.macro in ("map", "filter", "transformList"):
            return Estimate(cost, count, Entries(ONE, ZERO | (item.size or UNKNOWN)))
        return Estimate(cost, count)

    def _fold_locals(self, node: Fold, walked: Estimate, container: str) -> list[tuple[str, _Local]]:
        keys = walked.entries.keys if walked.entries is not None else None
        values = walked.entries.values if walked.entries is not None else None
        value_step = "@items" if container == "list" else "@values"
        key_step = "@indices" if container == "list" else "@keys"
        if node.second is None:
            is_list = container == "list"
            only = _Local((*walked.path, "@items" if is_list else "@keys"), values if is_list else keys)
            return [(node.first, only)]
        first, second = _Local((*walked.path, key_step), keys), _Local((*walked.path, value_step), values)
        return [(node.first, first), (node.second, second)]

    def _optional_map(self, node: OptionalMap) -> Estimate:
        target = self.visit(node.target)
        self._locals.append((node.variable, _Local((), None)))
        body = self.visit(node.body)
        self._locals.pop()
        taken = _LIST_COST + target.cost + ONE + body.cost + (ZERO if node.is_flat else ONE)
        return Estimate(target.cost + ONE + (taken | ONE))


def _step_into(kind: Type, step: str) -> Type | None:
    if step in ("@items", "@values"):
        return kind.params[-1] if kind.name in ("list", "map") else None
    if step == "@keys":
        return kind.params[0] if kind.name == "map" else None
    if kind.data is None or not kind.data.is_object or step not in kind.data.names:
        return None
    field = kind.data.field(step)
    return None if field is None else field.kind


def _fold_costs(macro: str, where: Range | None, body: Range) -> tuple[Range, Range]:
    """What a walk costs once, and for each element."""
    if macro == "all":
        return ONE, exactly(3) + Range(0, body.most)
    if macro == "exists":
        return ONE, exactly(4) + Range(0, body.most)
    if macro == "exists_one":
        return exactly(2), body + Range(1, 2)
    if macro == "filter":
        return exactly(11), body + Range(1, 13)
    once, each = {"transformMap": (31, 3), "transformMapEntry": (31, 2)}.get(macro, (11, 12))
    step = body + exactly(each)
    return exactly(once), step if where is None else where + (step | ONE)


def _both(left: Entries | None, right: Entries | None) -> Entries | None:
    """Entries of either; unknown when one of them is."""
    if left is None or right is None:
        return None
    return Entries(left.keys | right.keys, left.values | right.values)


def _is_scalar(kind: Type) -> bool:
    return kind.name in _SCALARS or (kind.name == "optional_type" and _is_scalar(kind.params[0]))


def _join(ranges: list[Range]) -> Range:
    joined = _EMPTY
    for each in ranges:
        joined = joined | each
    return joined if ranges else ZERO


def _sum(ranges: Iterable[Range]) -> Range:
    return sum(ranges, ZERO)
