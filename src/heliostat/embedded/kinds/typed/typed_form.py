"""An object as a typed API server would have it after reading: the right types, no zeros, no unknown fields.

The tree is changed in place. What cannot be decoded is one ``TypedError``; fields that the kind does not know are taken
out and told, in the order of the document, for the caller to warn about or refuse.
"""

from typing import Any

from heliostat.embedded.kinds.typed.typed_plans import object_plan
from heliostat.embedded.kinds.typed.typed_values import TypedError, UnknownFields
from heliostat.kube.jsontree import JsonObject, copy_tree
from heliostat.kube.paths import Path, format_dotted

__all__ = ["TypedError", "fit_type", "has_readable_metadata"]


def fit_type(tree: JsonObject, definition: str) -> list[str]:
    """The paths of the unknown fields; raises ``TypedError``."""
    unknown: UnknownFields = []
    try:
        object_plan(definition).fit(tree, unknown)
    except RecursionError:
        raise TypedError("exceeded max depth") from None
    return _take_out(tree, unknown) if unknown else []


def has_readable_metadata(tree: JsonObject) -> bool:
    """Whether the server may look into the metadata before it reads the rest."""
    metadata = tree.get("metadata")
    try:
        object_plan("meta.v1.ObjectMeta").fit(copy_tree(metadata) if metadata is not None else {}, [])
    except TypedError:
        return False
    return True


def _take_out(tree: JsonObject, unknown: UnknownFields) -> list[str]:
    owners = {id(owner) for owner, _ in unknown}
    paths = dict(_find(tree, (), owners))
    texts = [format_dotted((*paths[id(owner)], name)) for owner, name in unknown]
    for owner, name in unknown:
        del owner[name]
    return texts


def _find(value: Any, path: Path, owners: set[int]) -> list[tuple[int, Path]]:
    found: list[tuple[int, Path]] = []
    stack: list[tuple[Any, Path]] = [(value, path)]
    while stack:
        node, at = stack.pop()
        if isinstance(node, dict):
            if id(node) in owners:
                found.append((id(node), at))
            stack.extend((child, (*at, key)) for key, child in node.items() if isinstance(child, (dict, list)))
        else:
            stack.extend((child, (*at, index)) for index, child in enumerate(node) if isinstance(child, (dict, list)))
    return found
