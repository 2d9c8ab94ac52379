"""What an API server does not keep: when two trees that differ only in emptiness mean the same."""

from typing import Any


def drop_empty(tree: Any, significant: frozenset[str] = frozenset()) -> Any:
    """The tree without empty lists, objects and nulls; the ``significant`` keys mean something when empty and stay."""
    if isinstance(tree, dict):
        kept = {key: drop_empty(value, significant) for key, value in tree.items()}
        return {key: value for key, value in kept.items() if key in significant or value not in (None, [], {})}
    if isinstance(tree, list):
        return [drop_empty(value, significant) for value in tree]
    return tree
