"""An applied object laid over the live one: nothing is removed, and where both have a value the applied one counts.

The items of a set or table stay in their order; where the applied list has them in another, it wins, and live items
that it does not mention keep their place before the next item that both lists have.
"""

from collections import Counter, deque
from typing import Any

from heliostat.embedded.server.patches.apply.elements import Element
from heliostat.embedded.server.patches.apply.shapes import LIST, SCALAR, ListShape, MapShape, Shape
from heliostat.embedded.server.patches.apply.values import as_list, as_map, indexed, kinds_of


def merge_values(live: Any, applied: Any, shape: Shape) -> Any:
    """Both values are given; either may be null."""
    kind = kinds_of(shape, applied)[0]
    if kind == SCALAR:
        return applied
    if kind == LIST and shape.list:
        is_leaf = shape.list.is_atomic or not (as_list(live) or as_list(applied))
        return applied if is_leaf else _merge_lists(as_list(live), as_list(applied), shape.list)
    if shape.map:
        is_leaf = shape.map.is_atomic or not (as_map(live) or as_map(applied))
        return applied if is_leaf else _merge_maps(as_map(live), as_map(applied), shape.map)
    return applied


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], shape: MapShape) -> dict[str, Any]:
    merged = {**live, **applied}
    for name in live.keys() & applied.keys():
        child = shape.child(name)
        if child:
            merged[name] = merge_values(live[name], applied[name], child)
    return merged


def _merge_lists(live: list[Any], applied: list[Any], shape: ListShape) -> list[Any]:
    old, new = list(indexed(live, shape)), dict(indexed(applied, shape))
    times = Counter(element for element, _ in old)
    waiting = deque(new)  # applied items that are not in the result yet
    due = deque(element for element in new if element in times)  # those of them that are in the live list too
    before = {element: item for element, item in old if times[element] == 1}
    result: list[Any] = []

    def take_applied() -> Element:
        element = waiting.popleft()
        item = new[element]
        result.append(merge_values(before[element], item, shape.items) if element in before else item)
        return element

    for element, item in old:
        if element not in new:
            result.append(item)
        elif due and due[0] == element:
            due.popleft()
            while take_applied() != element:
                pass
        elif waiting and not due:  # the live list repeats an item: its place goes to the next applied one
            take_applied()
    while waiting:
        take_applied()
    return result
