"""The life of a namespace: deleted, it stays until its finalizers are gone, and takes nothing new meanwhile."""

from typing import Any

from embedded.server.inprocess import Client, config_map, serve

ONE = "/api/v1/namespaces/team"
MAPS = f"{ONE}/configmaps"


def namespace(**metadata: Any) -> dict[str, Any]:
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "team", **metadata}}


async def start(client: Client, **metadata: Any) -> None:
    await client.ok("POST", "/api/v1/namespaces", namespace(**metadata))


def test_a_deleted_one_terminates_and_stays() -> None:
    async def test(client: Client) -> None:
        await start(client)
        answer = await client.ok("DELETE", ONE)
        assert answer["status"]["phase"] == "Terminating"
        assert "deletionGracePeriodSeconds" not in answer["metadata"]
        assert await client.ok("DELETE", ONE) == await client.ok("GET", ONE) == answer
        status, refusal = await client.call("POST", "/api/v1/namespaces", namespace())
        assert (status, refusal["message"]) == (409, 'object is being deleted: namespaces "team" already exists')

    serve(test)


def test_it_takes_nothing_new_but_lets_go() -> None:
    async def test(client: Client) -> None:
        await start(client)
        await client.ok("POST", MAPS, config_map("old"))
        await client.ok("DELETE", ONE)
        status, refusal = await client.call("POST", MAPS, config_map("new"))
        words = "unable to create new content in namespace team because it is being terminated"
        assert (status, refusal["message"]) == (403, f'configmaps "new" is forbidden: {words}')
        assert refusal["details"]["causes"] == [
            {
                "reason": "NamespaceTerminating",
                "message": "namespace team is being terminated",
                "field": "metadata.namespace",
            }
        ]
        assert (await client.patch(f"{MAPS}/old", {"data": {"k": "v"}}))[0] == 200
        assert (await client.call("DELETE", f"{MAPS}/old"))[0] == 200

    serve(test)


def test_the_last_finalizer_of_its_spec_lets_it_go() -> None:
    async def test(client: Client) -> None:
        await start(client)
        deleted = await client.ok("DELETE", ONE)
        finalized = await client.ok("PUT", f"{ONE}/finalize", {**deleted, "spec": {}})
        assert finalized["spec"] == {}
        assert (await client.call("GET", ONE))[0] == 404

    serve(test)


def test_its_own_finalizers_hold_it_too() -> None:
    async def test(client: Client) -> None:
        await start(client, finalizers=["example.com/hold"])
        deleted = await client.ok("DELETE", ONE)
        await client.ok("PUT", f"{ONE}/finalize", {**deleted, "spec": {}})
        assert (await client.ok("GET", ONE))["metadata"]["finalizers"] == ["example.com/hold"]
        await client.patch(ONE, {"metadata": {"finalizers": None}})
        assert (await client.call("GET", ONE))[0] == 404

    serve(test)


def test_finalizing_one_that_is_not_deleted_only_takes_its_finalizers() -> None:
    async def test(client: Client) -> None:
        await start(client)
        tree = await client.ok("GET", ONE)
        await client.ok("PUT", f"{ONE}/finalize", {**tree, "spec": {}})
        kept = await client.ok("GET", ONE)
        assert (kept["spec"], kept["status"]["phase"]) == ({}, "Active")
        status, refusal = await client.call("PUT", f"{ONE}/finalize", {**kept, "spec": {"finalizers": ["x y"]}})
        assert (status, {cause["field"] for cause in refusal["details"]["causes"]}) == (422, {"spec.finalizers[0]"})

    serve(test)
