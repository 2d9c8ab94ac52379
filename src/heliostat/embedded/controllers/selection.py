"""Selectors as owners have them in their specs."""

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.selectors import NOTHING, Selector, SelectorError, selector_of


def read_selector(tree: JsonObject | None) -> Selector:
    """A selector that cannot be read selects nothing; the API lets none of them in."""
    try:
        return selector_of(tree)
    except SelectorError:
        return NOTHING
