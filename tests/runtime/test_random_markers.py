"""Secrets are filled in when a plan is carried out, wherever they stand, and nothing else is touched."""

import base64
from typing import Any

import pytest

from heliostat.kube.plan import Random
from heliostat.runtime.writing import fill_random

FILLED = base64.b64encode(b"\x07" * 4).decode()


def fill(tree: dict[str, Any]) -> dict[str, Any]:
    return fill_random(tree, lambda count: b"\x07" * count)


@pytest.mark.parametrize(
    ("tree", "filled"),
    [
        ({"data": {"token": Random(4)}}, {"data": {"token": FILLED}}),
        ({"a": [{"b": Random(4)}, Random(4)]}, {"a": [{"b": FILLED}, FILLED]}),
        ({"a": Random(4), "b": "plain"}, {"a": FILLED, "b": "plain"}),
    ],
)
def test_every_marker_is_filled_and_the_plan_keeps_its_own(tree: dict[str, Any], filled: dict[str, Any]) -> None:
    before = repr(tree)
    assert fill(tree) == filled
    assert repr(tree) == before


@pytest.mark.parametrize(
    "tree", [{}, {"a": {"b": ["c", 1, None]}}, {"type": "Random", "note": "a text"}, {"type": "Random", "bytes": 4}]
)
def test_a_tree_without_markers_stays_as_it_is(tree: dict[str, Any]) -> None:
    assert fill(tree) == tree
