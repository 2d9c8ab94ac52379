"""The laws over a fleet's history see what they are there for, and nothing else."""

from typing import Any

import pytest

from fleet.history import Seen, find_doubles
from fleet.lives import LIVES, Shape, build_cluster, life_of, plan_turns

Tree = dict[str, Any]


def ask(revision: int, shape: Shape) -> Seen:
    tree = build_cluster(1, shape)
    return Seen(revision, is_gone=False, tree=tree | {"metadata": tree["metadata"] | {"uid": "one"}})


def pod(revision: int, name: str, *, group: str = "small", is_gone: bool = False, is_leaving: bool = False) -> Seen:
    labels = {"ray.io/node-type": "head"} if group == "head" else {"ray.io/group": group}
    metadata: Tree = {"name": name, "uid": name, "labels": labels}
    metadata["ownerReferences"] = [{"uid": "one", "controller": True}]
    if is_leaving:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Seen(revision, is_gone, {"kind": "Pod", "metadata": metadata})


@pytest.mark.parametrize(
    "history",
    [
        [ask(1, Shape(2, 0)), pod(2, "a"), pod(3, "b")],
        [ask(1, Shape(1, 0)), pod(2, "a"), ask(3, Shape(2, 0)), pod(4, "b")],
        [
            ask(1, Shape(1, 0)),
            pod(2, "a"),
            ask(3, Shape(0, 0)),
            pod(4, "a", is_gone=True),
            ask(5, Shape(1, 0)),
            pod(6, "b"),
        ],
        [pod(2, "a"), ask(1, Shape(1, 0))],
        [ask(1, Shape()), pod(2, "h", group="head"), pod(3, "h", group="head", is_leaving=True)],
    ],
    ids=["as many as asked for", "grown", "shrunk and grown", "told in another order", "leaving"],
)
def test_what_was_asked_for_is_no_double(history: list[Seen]) -> None:
    assert find_doubles(history) == []


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ([ask(1, Shape(1, 0)), pod(2, "a"), pod(3, "b")], "revision 3: ray-1, small: b was made, so 2 are alive"),
        ([ask(1, Shape()), pod(2, "h", group="head"), pod(3, "i", group="head")], "head: i was made, so 2 are alive"),
        ([ask(1, Shape(1, 0)), pod(2, "a"), pod(3, "a", is_gone=True), pod(4, "b")], "the 2th where 1 were asked for"),
        ([ask(1, Shape(suspend=True)), pod(2, "a")], "1 are alive where at most 0"),
        ([pod(1, "a")], "a stranger"),
    ],
    ids=["a worker", "a head", "one after the other", "at rest", "nobody's"],
)
def test_a_double_is_found(history: list[Seen], words: str) -> None:
    assert any(words in sentence for sentence in find_doubles(history))


def test_turns_take_every_life_to_its_end() -> None:
    last = {turn.number: turn.shape for turn in plan_turns(2 * len(LIVES), 10.0, seed=3)}
    assert last == {number: life_of(number)[-1] for number in range(2 * len(LIVES))}
