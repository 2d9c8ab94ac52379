"""A JSON tree in which equal parts are one and the same object: less memory for what is kept and never changed.

The schema of a custom kind may hold that of a Pod several times over, and the word "string" thousands of times; of nine
megabytes of such objects half a megabyte is left. Whoever shares a tree promises that nobody edits it.
"""

from typing import Any, TypeVar

Tree = TypeVar("Tree")


def share_equal_parts(tree: Tree) -> Tree:
    """An equal tree; key order, and the difference between 1, 1.0 and true, stay."""
    shared: Tree = _share(tree, {})
    return shared


def _share(tree: Any, known: dict[Any, Any]) -> Any:
    """A container is known by the identity of its parts, which were shared before it."""
    if isinstance(tree, str):
        return known.setdefault(tree, tree)
    if isinstance(tree, dict):
        fields = {known.setdefault(key, key): _share(value, known) for key, value in tree.items()}
        return known.setdefault((dict, *[(key, id(value)) for key, value in fields.items()]), fields)
    if isinstance(tree, list):
        items = [_share(value, known) for value in tree]
        return known.setdefault((list, *map(id, items)), items)
    return tree
