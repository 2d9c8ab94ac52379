"""The same long list asked for twice is the same; whatever could change it is seen."""

from typing import Any

import pytest

from embedded.server.inprocess import MAPS, Client, config_map, serve

LARGE = {"data": {"large": "x" * 20_000}}
ALL_MAPS = "/api/v1/configmaps"


async def make(client: Client, *names: str, **metadata: Any) -> None:
    for name in names:
        await client.ok("POST", MAPS, {**config_map(name, **metadata), **LARGE})


def names(tree: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in tree["items"]]


def test_an_equal_question_has_an_equal_answer() -> None:
    async def test(client: Client) -> None:
        await make(client, *"abcd")
        first = await client.ok("GET", MAPS, limit="3")
        assert await client.ok("GET", MAPS, limit="3") == first

    serve(test)


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", MAPS, {**config_map("e"), **LARGE}, [*"abcde"]),
        ("DELETE", f"{MAPS}/b", None, [*"acd"]),
        ("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}}, [*"abcd"]),
    ],
)
def test_a_write_shows_at_once(method: str, path: str, body: Any, expected: list[str]) -> None:
    async def test(client: Client) -> None:
        await make(client, *"abcd")
        before = await client.ok("GET", MAPS)
        await client.ok(method, path, body)
        after = await client.ok("GET", MAPS)
        assert names(after) == expected
        assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])

    serve(test)


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        (MAPS, {"limit": "2"}, [*"ab"]),
        (MAPS, {"labelSelector": "l=x"}, [*"cd"]),
        (MAPS, {"fieldSelector": "metadata.name=b"}, ["b"]),
        ("/api/v1/namespaces/kube-system/configmaps", {}, []),
        (ALL_MAPS, {}, [*"abcd"]),
    ],
)
def test_another_question_has_its_own_answer(path: str, query: dict[str, str], expected: list[str]) -> None:
    async def test(client: Client) -> None:
        await make(client, "a", "b")
        await make(client, "c", "d", labels={"l": "x"})
        await client.ok("GET", MAPS)
        assert names(await client.ok("GET", path, **query)) == expected

    serve(test)


def test_an_exact_revision_that_is_compacted_away_is_not_answered_from_memory() -> None:
    async def test(client: Client) -> None:
        await make(client, *"abcd")
        old = (await client.ok("GET", MAPS))["metadata"]["resourceVersion"]
        await make(client, "e")
        exact = {"resourceVersion": old, "resourceVersionMatch": "Exact"}
        assert names(await client.ok("GET", MAPS, **exact)) == [*"abcd"]
        client.core.store.compact(client.core.store.revision)
        status, tree = await client.call("GET", MAPS, **exact)
        assert (status, tree["reason"]) == (410, "Expired")

    serve(test)
