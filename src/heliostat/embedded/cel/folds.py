"""The types of macros that walk a list or a map.

A list gives its items (with two variables: index and item), a map its keys (with two: key and value).
"""

from heliostat.embedded.cel.static_types import BOOL, DYN, INT, Type, is_dynamic, list_of, map_of

BOOLEAN_FOLDS = ("all", "exists")


def fold_variables(kind: Type, *, has_two: bool) -> tuple[Type, Type] | None:
    """The types of both variables (without a second one, it is ``dyn``); None for what cannot be walked."""
    if is_dynamic(kind) or kind.is_variable:
        return DYN, DYN
    if kind.name == "list":
        return (INT, kind.params[0]) if has_two else (kind.params[0], DYN)
    if kind.name == "map":
        return (kind.params[0], kind.params[1]) if has_two else (kind.params[0], DYN)
    return None


def fold_result(macro: str, first: Type, body: Type) -> Type | None:
    """The type of the whole; None when ``transformMapEntry`` does not make a map."""
    if macro == "exists_one":
        return BOOL
    if macro in ("map", "filter", "transformList"):
        return list_of(body)
    if macro == "transformMap":
        return map_of(first, body)
    if is_dynamic(body):
        return map_of(DYN, DYN)
    return body if body.name == "map" else None
