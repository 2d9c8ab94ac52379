"""Owner references: one controller, known by its UID."""

from typing import Any

import pytest

from heliostat.kube.owners import (
    build_controller_reference,
    controller_of,
    is_controlled_by,
    owner_references,
)

OWNER = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "c", "namespace": "d", "uid": "u1"}}


def child(*references: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "ownerReferences": list(references)}}


def test_the_reference_names_the_owner_and_blocks_its_deletion() -> None:
    assert build_controller_reference(OWNER) == {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "name": "c",
        "uid": "u1",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert build_controller_reference(OWNER, block_owner_deletion=False)["blockOwnerDeletion"] is False


def test_only_the_controller_controls() -> None:
    other = {"kind": "X", "name": "x", "uid": "u0"}
    pod = child(other, build_controller_reference(OWNER))
    assert controller_of(pod) == build_controller_reference(OWNER)
    assert is_controlled_by(pod, "u1")
    assert not is_controlled_by(pod, "u0")


def test_no_uid_owns_nothing() -> None:
    pod = child({"controller": True, "uid": ""})
    assert not is_controlled_by(pod, "")


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"metadata": None},
        {"metadata": {}},
        {"metadata": {"ownerReferences": None}},
        {"metadata": {"ownerReferences": "x"}},
    ],
)
def test_an_object_without_owners(tree: Any) -> None:
    assert owner_references(tree) == []
    assert controller_of(tree) is None
    assert not is_controlled_by(tree, "u1")


def test_items_that_are_no_references_are_passed_over() -> None:
    assert owner_references(child(None, "x", {"uid": "u"})) == [{"uid": "u"}]
