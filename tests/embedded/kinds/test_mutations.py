"""Requests broken at random (by seed): whatever is sent, the answer is an object or a Status, and never a bug."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from embedded.kinds.exchange import JSON, Call, load, prepare
from embedded.kinds.servers import serve
from heliostat.kube.jsontree import copy_tree

NAMESPACE = "broken"
REQUESTS = 600
VALUES: list[Any] = [
    None, "", 0, -1, 1, 70000, 2**31, True, False, [], {}, "x", "A b", "None", "Always", "10%", "1Gi", "-1", "10.0.0.1",
    "a.b/c", [None], [{}], {"a": "b"}, ["x", "x"], 1.5, "2020-01-01T00:00:00Z",
]  # fmt: skip
STEPS = [step for name in ("creates", "changes") for step in load(name) if step.method == "POST" and step.body]


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        if path or key not in ("kind", "apiVersion"):
            yield (*path, key)
            yield from places(value, (*path, key))


NAMES = sorted({key for step in STEPS for place in places(step.body) for key in place if isinstance(key, str)})


def broken(tree: Any, chance: random.Random) -> Any:
    """A copy with up to three values removed, replaced or added."""
    tree = copy_tree(tree)
    for _ in range(chance.randint(1, 3)):
        found = list(places(tree))
        if not found:
            return tree
        *parents, last = chance.choice(found)
        node = tree
        for key in parents:
            node = node[key]
        action, value = chance.random(), copy_tree(chance.choice(VALUES))
        if action < 0.25:
            del node[last]
        elif action < 0.7:
            node[last] = value
        elif isinstance(node, dict):
            node[chance.choice(NAMES)] = value
        else:
            node.append(value)
    return tree


@pytest.mark.parametrize("seed", range(4))
def test_no_request_meets_a_bug(seed: int) -> None:
    async def test(call: Call) -> None:
        await prepare(call, NAMESPACE)
        chance = random.Random(seed)  # noqa: S311
        for _ in range(REQUESTS):
            step = chance.choice(STEPS)
            path = step.path.replace("NS", NAMESPACE).partition("?")[0]
            status, answer = await call("POST", path, broken(step.body, chance), JSON)
            assert status != 500 or "bug" not in answer["message"]
            if status == 201 and answer["metadata"].get("name"):
                await put_back(call, f"{path}/{answer['metadata']['name']}", chance)

    serve(test)


async def put_back(call: Call, path: str, chance: random.Random) -> None:
    """What is served can be sent back, which changes nothing; broken, through any door, it is refused or taken."""
    _, tree = await call("GET", path, None, JSON)
    status, same = await call("PUT", path, tree, JSON)
    assert (status, same) == (200, tree)
    for door in ("", "/status", "/scale", "/resize", "/ephemeralcontainers"):
        status, answer = await call("PUT", path + door, broken(tree, chance), JSON)
        assert status != 500 or "bug" not in answer["message"]
    await call("DELETE", path, None, JSON)
