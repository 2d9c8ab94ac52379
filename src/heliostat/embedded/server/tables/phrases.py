"""What several kinds write in their cells in the same way: labels, selectors, containers, the first few of many."""

from collections.abc import Sequence
from typing import Any

from heliostat.embedded.server.tables.columns import NONE, Column, computed, entries, items
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.quantity import Quantity, QuantityError
from heliostat.kube.selectors import SelectorError, selector_of


def labels_text(labels: JsonObject | None) -> str:
    """``a=b,c=d`` in the order of the keys."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: JsonObject | None) -> str:
    """The object form of a selector in its text form."""
    try:
        return str(selector_of(selector)) or NONE
    except SelectorError:
        return "<error>"


def first_few(texts: Sequence[str], most: int = 3, separator: str = ",") -> str:
    """At most so many, and how many more there are."""
    shown = separator.join(texts[:most])
    return f"{shown} + {len(texts) - most} more..." if len(texts) > most else shown


def joined(tree: JsonObject, path: str, field: str) -> str:
    return ",".join(str(item.get(field) or "") for item in items(tree, path))


def container_columns(pod_spec: str, *, priority: int = 1) -> tuple[Column, Column]:
    """Names and images of the containers of a Pod template."""
    path = f"{pod_spec}.containers"
    return (
        computed("Containers", lambda tree: joined(tree, path, "name"), priority=priority),
        computed("Images", lambda tree: joined(tree, path, "image"), priority=priority),
    )


def labels_column(name: str, path: str, *, priority: int = 0) -> Column:
    return computed(name, lambda tree: labels_text(entries(tree, path)), priority=priority)


def condition(tree: JsonObject, kind: str) -> JsonObject | None:
    return next((item for item in items(tree, "status.conditions") if item.get("type") == kind), None)


def has_condition(tree: JsonObject, kind: str) -> bool:
    """There, and true."""
    found = condition(tree, kind)
    return found is not None and found.get("status") == "True"


def is_going(tree: JsonObject) -> bool:
    return "deletionTimestamp" in tree["metadata"]


def quantity_text(value: Any) -> str:
    """The canonical form, whichever way the object says it; nothing is zero."""
    try:
        return str(Quantity.parse(value or 0))
    except QuantityError:
        return str(value)


def text_of(value: Any, missing: str) -> str:
    return missing if value is None else str(value)
