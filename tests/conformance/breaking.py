"""Break a legal object in one place: drop a field, put in a wrong type or value, repeat an element, add a field."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from conformance.model import Json

_WRONG: tuple[Json, ...] = (5, -1, 0, "text", "Bad Value!", "", [], {}, True, None, 1.5, ["x"], {"x": "y"})
# Which object is meant is not to be broken here: names have sequences of their own.
_KEPT = frozenset({"name", "namespace"})


def break_once(random: Random, tree: Json) -> Json:
    """A new tree with one thing wrong (or, by luck, still right)."""
    broken = copy.deepcopy(tree)
    places = list(_places(broken))
    holder, key = random.choice(places)
    random.choice(_WAYS)(random, holder, key)
    return broken


def _places(tree: Json, depth: int = 0) -> list[tuple[Any, Any]]:
    """Every (holder, key) below the top, where something can be broken."""
    found: list[tuple[Any, Any]] = []
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
    for key, value in items:
        if depth == 0 and key in ("apiVersion", "kind"):
            continue
        if not (key in _KEPT and depth <= 1):
            found.append((tree, key))
        if isinstance(value, (dict, list)):
            found += _places(value, depth + 1)
    return found


def _drop(_random: Random, holder: Any, key: Any) -> None:
    del holder[key]


def _replace(random: Random, holder: Any, key: Any) -> None:
    holder[key] = random.choice(_WRONG)


def _repeat(_random: Random, holder: Any, key: Any) -> None:
    if isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif isinstance(holder[key], list) and holder[key]:
        holder[key].append(copy.deepcopy(holder[key][0]))
    else:
        holder["unknownField"] = 1


def _add_field(random: Random, holder: Any, key: Any) -> None:
    target = holder[key] if isinstance(holder[key], dict) else holder
    if isinstance(target, dict):
        target[random.choice(("unknownField", "Name", "bad key!"))] = random.choice((1, "x", {}))
    else:
        target.append("x")


_WAYS: tuple[Callable[[Random, Any, Any], None], ...] = (_drop, _replace, _replace, _repeat, _add_field)
