"""Revisions and the annotations of ReplicaSets."""

import pytest
from msgspec import convert

from heliostat.embedded.controllers.deployments.revisions import (
    HISTORY,
    REVISION,
    decide_annotations,
    next_revision,
    noted_size,
)
from heliostat.embedded.controllers.views.deployments import Deployment
from heliostat.embedded.controllers.views.replicasets import ReplicaSet


def build(**annotations: str) -> Deployment:
    return convert({"metadata": {"annotations": annotations}}, Deployment)


def owned(revision: str | None) -> ReplicaSet:
    annotations = {} if revision is None else {REVISION: revision}
    return convert({"metadata": {"annotations": annotations}}, ReplicaSet)


@pytest.mark.parametrize(
    ("revisions", "expected"), [([], 1), ([None], 1), (["1", "7", "3"], 8), (["x", "2"], 3), (["x"], 1)]
)
def test_the_next_revision(revisions: list[str | None], expected: int) -> None:
    assert next_revision([owned(revision) for revision in revisions]) == expected


def test_annotations_are_copied_but_for_those_of_one_of_the_two() -> None:
    deployment = build(
        **{
            "team": "a",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "deployment.kubernetes.io/revision": "3",
            "deprecated.deployment.rollback.to": "1",
        }
    )
    assert decide_annotations(deployment, {}, 4) == {"team": "a", REVISION: "4"}
    assert decide_annotations(deployment, {"team": "a", REVISION: "4"}, 4) == {}
    assert decide_annotations(deployment, {"team": "b", "own": "x", REVISION: "9"}, 4) == {"team": "a"}


@pytest.mark.parametrize(
    ("known", "changes"),
    [
        ({}, {REVISION: "5"}),
        ({REVISION: "5"}, {}),
        ({REVISION: "7"}, {}),
        ({REVISION: "2"}, {REVISION: "5", HISTORY: "2"}),
        ({REVISION: "4", HISTORY: "1,3"}, {REVISION: "5", HISTORY: "1,3,4"}),
        ({REVISION: "first"}, {}),
    ],
)
def test_a_revision_that_comes_back_is_remembered(known: dict[str, str], changes: dict[str, str]) -> None:
    assert decide_annotations(build(), known, 5) == changes


def test_the_history_stays_short() -> None:
    history = ",".join(str(number) for number in range(1000, 1400))[:1999]
    remembered = decide_annotations(build(), {REVISION: "5000", HISTORY: history}, 6000)[HISTORY]
    assert len(remembered) <= 2000
    assert remembered.endswith(",5000")
    assert not remembered.startswith("1000")


@pytest.mark.parametrize(
    ("text", "size"), [("3", 3), ("0", 0), ("", None), ("-1", None), ("x", None), ("4294967296", None)]
)
def test_sizes_in_annotations(text: str, size: int | None) -> None:
    assert noted_size(convert({"metadata": {"annotations": {"size": text}}}, ReplicaSet), "size") == size
