"""When two Pod templates are the same, and what their hash looks like."""

import re

from hypothesis import given
from hypothesis import strategies as st

from embedded.controllers.workloads import template
from heliostat.embedded.controllers.deployments.templates import (
    add_hash_label,
    add_hash_requirement,
    hash_template,
    is_same_template,
    name_replica_set,
)


def test_the_hash_label_and_nulls_do_not_count() -> None:
    tree = template()
    labelled = add_hash_label(tree, "abc")
    assert labelled["metadata"]["labels"]["pod-template-hash"] == "abc"
    assert is_same_template(tree, labelled)
    assert is_same_template(tree, {**tree, "metadata": {**tree["metadata"], "creationTimestamp": None}})
    assert hash_template(tree, None) == hash_template(labelled, None)


def test_everything_else_counts() -> None:
    assert not is_same_template(template("a"), template("b"))
    assert not is_same_template(template(), template(tier="front"))
    assert hash_template(template("a"), None) != hash_template(template("b"), None)


def test_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    tree = template()
    assert hash_template(dict(reversed(tree.items())), None) == hash_template(tree, None)


@given(st.integers(0, 10_000))
def test_every_collision_gives_another_hash_of_the_same_shape(collisions: int) -> None:
    first, second = (hash_template(template(), count) for count in (collisions, collisions + 1))
    assert first != second
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", first)


def test_names_are_cut_to_what_fits() -> None:
    assert name_replica_set("web", "abc") == "web-abc"
    long = name_replica_set("w" * 253, "abcdefghij")
    assert len(long) == 253
    assert long.endswith("w-abcdefghij")


def test_the_selector_gets_the_hash_and_keeps_the_rest() -> None:
    expressions = [{"key": "a", "operator": "Exists"}]
    assert add_hash_requirement({"matchExpressions": expressions}, "abc") == {
        "matchExpressions": expressions,
        "matchLabels": {"pod-template-hash": "abc"},
    }
