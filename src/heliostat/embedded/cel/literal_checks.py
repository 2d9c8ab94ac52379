"""Mistakes that are visible in the text alone: literals no function can read, lists and maps of mixed types."""

from collections.abc import Callable, Iterator, Sequence

from heliostat.embedded.cel.checker import Checked
from heliostat.embedded.cel.errors import Issue
from heliostat.embedded.cel.static_types import Type
from heliostat.embedded.cel.syntax import Call, ListLiteral, Literal, MapLiteral, Node, children_of
from heliostat.embedded.cel.text_format import format_issues
from heliostat.embedded.cel.times import parse_duration, parse_timestamp
from heliostat.kube.regex import compile_pattern
from heliostat.kube.regex_syntax import RegexError

_MIXED_ALLOWED = frozenset(("format",))  # functions whose list is a list of arguments


def literal_issues(checked: Checked) -> list[Issue]:
    return sorted(_issues(checked), key=lambda issue: issue.position)


def _issues(checked: Checked) -> Iterator[Issue]:
    todo: list[tuple[Node, bool]] = [(checked.tree, False)]
    while todo:
        node, may_mix = todo.pop()
        if isinstance(node, Call):
            may_mix = may_mix or node.function in _MIXED_ALLOWED
            yield from _argument_issues(node)
            yield from _format_issues(node, checked)
        elif isinstance(node, (ListLiteral, MapLiteral)) and not may_mix:
            yield from _mixed_issues(node, checked)
        todo += [(child, may_mix) for child in children_of(node)]


def _is_pattern(text: object) -> bool:
    try:
        compile_pattern(text if isinstance(text, str) else "")
    except RegexError:
        return False
    return True


def _is_duration(text: object) -> bool:
    return isinstance(text, str) and parse_duration(text) is not None


def _is_timestamp(text: object) -> bool:
    return isinstance(text, int) or (isinstance(text, str) and parse_timestamp(text) is not None)


_READS: dict[str, Callable[[object], bool]] = {
    "matches": _is_pattern,
    "duration": _is_duration,
    "timestamp": _is_timestamp,
}


def _argument_issues(node: Call) -> Iterator[Issue]:
    reads = _READS.get(node.function)
    if reads is not None and node.args and isinstance(node.args[-1], Literal) and not reads(node.args[-1].value):
        yield Issue(node.args[-1].position, f"invalid {node.function} argument")


def _format_issues(node: Call, checked: Checked) -> Iterator[Issue]:
    if node.function != "format" or not isinstance(node.target, Literal) or not isinstance(node.target.value, str):
        return
    args = node.args[0]
    if not isinstance(args, ListLiteral) or args.optional:
        return
    for index, problem in format_issues(node.target.value, [checked.types[item] for item in args.items]):
        yield Issue(node.position if index is None else args.items[index].position, problem)


def _mixed_issues(node: ListLiteral | MapLiteral, checked: Checked) -> Iterator[Issue]:
    if isinstance(node, ListLiteral):
        kinds = [_item_type(checked.types[item], i in node.optional) for i, item in enumerate(node.items)]
        yield from _first_stranger(node.items, kinds)
        return
    keys = [entry.key for entry in node.entries]
    mixed_keys = list(_first_stranger(keys, [checked.types[key] for key in keys]))
    kinds = [_item_type(checked.types[entry.value], entry.is_optional) for entry in node.entries]
    yield from mixed_keys or _first_stranger([entry.value for entry in node.entries], kinds)


def _item_type(kind: Type, is_optional: bool) -> Type:
    return kind.params[0] if is_optional and kind.params else kind


def _first_stranger(nodes: Sequence[Node], kinds: list[Type]) -> Iterator[Issue]:
    for node, kind in zip(nodes, kinds, strict=True):
        if kind != kinds[0]:
            yield Issue(node.position, f"expected type '{kinds[0]}' but found '{kind}'")
            return
