"""How the lists of a strategic merge patch merge, and in which order the result stands.

Items meet by their merge key (scalars by themselves). Items that the patch mentions stand in the patch's order, the
others in their own; where both orders leave a choice, an item of the live list comes first only if it stood before the
patch's item in the live list. So what a patch adds stands before what it does not mention.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from heliostat.embedded.server.patches.errors import UnprocessablePatchError, unforeseen
from heliostat.embedded.server.patches.go_values import go_text, go_type
from heliostat.kube.jsontree import JsonObject, encode_json

DIRECTIVE = "$patch"

MergeObjects = Callable[[JsonObject, JsonObject], JsonObject]


def merge_items(live: list[Any], patch: list[Any], merge_key: str, merge_objects: MergeObjects) -> list[Any]:
    """Both lists as one. ``merge_objects`` merges two items that have the same key."""
    if not live and not patch:
        return live
    if element_type(live, patch) is not dict:
        merged = _without_repeats(live + patch)
    elif not merge_key:
        raise unforeseen("cannot merge lists without merge key for struct")
    else:
        live, patch = _obey_directives(live, patch, merge_key)
        merged = _merge_by_key(live, patch, merge_key, merge_objects)
    return put_in_order(merged, patch, live, merge_key)


def remove_items(live: list[Any], unwanted: list[Any]) -> list[Any]:
    """The scalars of a list that are not in another."""
    gone = {_identity(item) for item in unwanted}
    return [item for item in live if _identity(item) not in gone]


def put_in_order(items: list[Any], wanted: list[Any], before: list[Any], merge_key: str) -> list[Any]:
    """The items sorted: those of ``wanted`` like there, all others as they stood ``before``."""
    pairs = [(_key_of(item, merge_key), item) for item in items]
    wanted_rank, live_rank = _ranks(wanted, merge_key), _ranks(before, merge_key)
    named = sorted((pair for pair in pairs if pair[0] in wanted_rank), key=_by(wanted_rank))
    others = deque(sorted((pair for pair in pairs if pair[0] not in wanted_rank), key=_by(live_rank)))
    result = []
    for key, item in named:
        while others and key in live_rank and live_rank.get(others[0][0], len(before)) < live_rank[key]:
            result.append(others.popleft()[1])
        result.append(item)
    return result + [item for _, item in others]


def order_after(live: list[Any], patch: list[Any], merge_key: str) -> list[Any]:
    """The live order that a list with a wanted order is judged by: added items take the places of deleted ones."""
    if not live or not merge_key or not any(DIRECTIVE in item for item in patch):
        return live
    doomed = {_key_of(item, merge_key) for item in patch if item.get(DIRECTIVE) == "delete"}
    remaining = [item for item in live if _key_of(item, merge_key) not in doomed]
    known = _ranks(remaining, merge_key)
    added = [item for item in patch if DIRECTIVE not in item and _key_of(item, merge_key) not in known]
    return remaining + added[: len(live) - len(remaining)]


def check_order(patch: list[Any], wanted: list[Any], merge_key: str, directive: str) -> None:
    """An order must mention every item of the patch, in the order of the patch."""
    if not patch or not wanted:
        return
    if merge_key:
        for item in patch:
            _require_object(item)
    pending = deque(item for item in patch if not (isinstance(item, dict) and item.get(DIRECTIVE) == "delete"))
    for key in [_key_of(item, merge_key) for item in wanted]:
        while pending and isinstance(pending[0], dict) and DIRECTIVE in pending[0]:
            pending.popleft()
        if pending and _key_of(pending[0], merge_key) == key:
            pending.popleft()
    if pending:
        problem = f"The order in patch list:\n{go_text(patch)}\n doesn't match {directive} list:\n{go_text(wanted)}\n"
        raise unforeseen(problem)


def element_type(*lists: list[Any]) -> type:
    """The one type that all items have."""
    types = [type(item) for items in lists for item in items]
    if not types:
        raise unforeseen("no elements in any of the given slices")
    if types[0] is list:
        raise UnprocessablePatchError("lists of lists are not supported")
    if len(set(types)) > 1 or types[0] is type(None):
        raise unforeseen(f"list element types are not identical: {go_text(list(lists))}")
    return types[0]


def _obey_directives(live: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """The live list after the deletions that the patch asks for, and the patch without its directives."""
    plain = [item for item in patch if DIRECTIVE not in item]
    is_replacement = False
    doomed = set()
    for item in patch:
        directive = item.get(DIRECTIVE) if DIRECTIVE in item else ""
        if directive == "delete":
            doomed.add(_key_of(item, merge_key))
        elif directive == "replace":
            is_replacement = True
        elif directive == "merge":
            raise unforeseen("merging lists cannot yet be specified in the patch")
        elif directive != "":
            raise unknown_directive(item)
    if is_replacement:
        return plain, []
    return [item for item in live if merge_key not in item or _identity(item[merge_key]) not in doomed], plain


def _merge_by_key(live: list[Any], patch: list[Any], merge_key: str, merge_objects: MergeObjects) -> list[Any]:
    merged = list(live)
    places: dict[Hashable, int] = {}
    for index, item in enumerate(live):
        if merge_key in item:
            places.setdefault(_identity(item[merge_key]), index)
    for item in patch:
        place = places.setdefault(_key_of(item, merge_key), len(merged))
        if place == len(merged):
            merged.append(item)
        else:
            merged[place] = merge_objects(merged[place], item)
    return merged


def unknown_directive(patch: JsonObject) -> Exception:
    directive = patch[DIRECTIVE]
    shown = directive if isinstance(directive, str) else f"%!s({go_type(directive)}={go_text(directive)})"
    return unforeseen(f"unknown patch type: {shown} in map: {go_text(patch)}")


def _by(rank: dict[Hashable, int]) -> Callable[[tuple[Hashable, Any]], int]:
    return lambda pair: rank.get(pair[0], -1)


def _ranks(items: list[Any], merge_key: str) -> dict[Hashable, int]:
    ranks: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        ranks.setdefault(_key_of(item, merge_key), index)
    return ranks


def _key_of(item: Any, merge_key: str) -> Hashable:
    if not merge_key:
        return _identity(item)
    _require_object(item)
    if merge_key not in item:
        raise unforeseen(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")
    return _identity(item[merge_key])


def _require_object(item: Any) -> None:
    if not isinstance(item, dict):
        raise unforeseen(f"expected a map[string]interface {{}}, but received a {go_type(item)}")


def _without_repeats(items: list[Any]) -> list[Any]:
    return list({_identity(item): item for item in reversed(items)}.values())[::-1]


def _identity(value: Any) -> Hashable:
    """The same for equal JSON values only: 1, 1.0 and true are three."""
    return type(value), encode_json(value) if isinstance(value, (dict, list)) else value
