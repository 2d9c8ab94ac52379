"""How large an object may be as it is kept: what the server adds to it counts."""

from typing import Any

import pytest

from embedded.server.inprocess import MAPS, Client, config_map, serve
from heliostat.embedded.server import limits
from heliostat.embedded.server.changes import stored_form
from heliostat.embedded.server.limits import LARGEST_STORED
from heliostat.kube import schema_defaults

GROUP = "example.org"
TOO_LARGE = "etcdserver: request is too large"
WITH_DEFAULT = {"type": "object", "properties": {"text": {"type": "string", "default": "x" * 1000}}}


def definition() -> dict[str, Any]:
    items = {"type": "array", "items": WITH_DEFAULT}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"items": items}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    head = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}
    return {**head, "metadata": {"name": f"foos.{GROUP}"}, "spec": spec}


async def create_foo(client: Client, count: int, **query: str) -> tuple[int, Any]:
    tree = {"kind": "Foo", "apiVersion": f"{GROUP}/v1", "metadata": {"name": "f"}, "spec": {"items": [{}] * count}}
    return await client.call("POST", f"/apis/{GROUP}/v1/namespaces/default/foos", tree, **query)


@pytest.mark.parametrize("count", [LARGEST_STORED // 1000, 100_000], ids=["stored", "in-memory"])
def test_defaults_count_for_the_size_of_an_object(count: int) -> None:
    """The larger one would be 100 MB in memory from a request of 300 kB, and is refused before it is."""

    async def test(client: Client) -> None:
        await client.ok("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
        for query in ({}, {"dryRun": "All"}):
            status, refused = await create_foo(client, count, **query)
            assert (status, refused["message"]) == (500, TOO_LARGE)
        assert (await create_foo(client, 1000))[0] == 201

    serve(test)


def test_defaults_stop_before_they_fill_the_memory() -> None:
    tree: dict[str, Any] = {"items": [{} for _ in range(schema_defaults.MOST_ADDED // 1000 + 1)]}
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": WITH_DEFAULT}}}
    with pytest.raises(schema_defaults.TooManyDefaultsError):
        schema_defaults.apply_defaults(tree, schema)


def test_an_object_that_is_too_large_is_neither_made_nor_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(client: Client) -> None:
        large = {**config_map(), "data": {"k": "x" * 900_000, "l": "x" * 100_000}}
        await client.ok("POST", MAPS, large)
        monkeypatch.setattr(stored_form, "LARGEST_STORED", 500_000)
        status, refused = await client.patch(f"{MAPS}/a", {"data": {"m": "x"}})
        assert (status, refused["message"]) == (500, TOO_LARGE)
        await client.ok("DELETE", f"{MAPS}/a")  # whatever it is, it can be got rid of

    serve(test)
    assert limits.LARGEST_STORED == 1_572_864
