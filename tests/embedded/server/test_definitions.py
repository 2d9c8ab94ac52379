"""The life of a CustomResourceDefinition: its names, its serving, and its end, which waits for its objects."""

from typing import Any

import pytest

from embedded.server.inprocess import Client, serve
from embedded.server.test_custom_resources import CRDS, THINGS, crd, thing

ONE = f"{CRDS}/things.example.com"
HELD = {"finalizers": ["example.com/hold"]}


def condition(tree: dict[str, Any], kind: str) -> tuple[str, str]:
    found = next(item for item in tree["status"]["conditions"] if item["type"] == kind)
    return found["status"], found["reason"]


def other(plural: str, kind: str, **names: Any) -> dict[str, Any]:
    tree = crd(names={"plural": plural, "kind": kind, **names})
    return {**tree, "metadata": {"name": f"{plural}.example.com"}}


def held(name: str) -> dict[str, Any]:
    tree = thing(name)
    return {**tree, "metadata": {"name": name, **HELD}}


def test_it_is_named_and_then_established() -> None:
    async def test(client: Client) -> None:
        watch = await client.open_watch(CRDS)
        await client.ok("POST", CRDS, crd())
        events = await watch.take(3)
        assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "MODIFIED"]
        assert events[0]["object"]["status"]["acceptedNames"] == {"plural": "", "kind": ""}
        assert condition(events[1]["object"], "Established") == ("False", "Installing")
        assert condition(events[2]["object"], "Established") == ("True", "InitialNamesAccepted")

    serve(test)


def test_without_objects_it_goes_at_once() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        answer = await client.ok("DELETE", ONE)
        assert answer["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        assert condition(answer, "Terminating") == ("True", "InstanceDeletionPending")
        assert (await client.call("GET", ONE))[0] == 404
        assert (await client.call("GET", THINGS))[0] == 404

    serve(test)


def test_it_waits_for_the_last_of_its_objects() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        await client.ok("POST", THINGS, thing("free"))
        await client.ok("POST", THINGS, held("held"))
        await client.ok("DELETE", ONE)
        assert condition(await client.ok("GET", ONE), "Terminating") == ("True", "InstanceDeletionInProgress")
        left = (await client.ok("GET", THINGS))["items"]
        assert [item["metadata"]["name"] for item in left] == ["held"]
        assert "deletionTimestamp" in left[0]["metadata"]
        await client.patch(f"{THINGS}/held", {"metadata": {"finalizers": None}})
        assert (await client.call("GET", ONE))[0] == 404
        assert (await client.call("GET", THINGS))[0] == 404

    serve(test)


def test_while_it_goes_nothing_new_is_taken() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        await client.ok("POST", THINGS, held("held"))
        await client.ok("DELETE", ONE)
        words = "create not allowed while custom resource definition is terminating"
        status, answer = await client.call("POST", THINGS, thing("new"))
        assert (status, answer["message"]) == (403, f'things.example.com "new" is forbidden: {words}')
        status, answer = await client.patch(f"{THINGS}/new", thing("new"), "apply-patch+yaml", fieldManager="m")
        assert (status, answer["reason"]) == (403, "Forbidden")
        status, answer = await client.call("POST", CRDS, crd())
        assert (status, answer["message"].startswith("object is being deleted: ")) == (409, True)

    serve(test)


def test_a_finalizer_of_others_holds_it_too() -> None:
    async def test(client: Client) -> None:
        tree = crd()
        await client.ok("POST", CRDS, {**tree, "metadata": {**tree["metadata"], **HELD}})
        await client.ok("DELETE", ONE)
        kept = await client.ok("GET", ONE)
        assert kept["metadata"]["finalizers"] == HELD["finalizers"]
        assert condition(kept, "Terminating") == ("False", "InstanceDeletionCompleted")
        await client.patch(ONE, {"metadata": {"finalizers": None}})
        assert (await client.call("GET", ONE))[0] == 404

    serve(test)


def test_a_name_that_another_has_is_waited_for() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        await client.ok("POST", CRDS, other("stuffs", "Stuff", shortNames=["th"]))
        waiting = await client.ok("GET", f"{CRDS}/stuffs.example.com")
        assert condition(waiting, "NamesAccepted") == ("False", "ShortNamesConflict")
        assert condition(waiting, "Established") == ("False", "NotAccepted")
        stuffs = THINGS.replace("things", "stuffs")
        assert (await client.call("GET", stuffs))[0] == 404
        await client.ok("DELETE", ONE)
        assert (await client.call("GET", stuffs))[0] == 200

    serve(test)


@pytest.mark.parametrize(
    ("schema", "field", "words"),
    [
        ({"type": "string"}, "type", 'Invalid value: "string": must be object at the root'),
        ({"type": "object", "properties": {"a": {}}}, "properties[a].type", "must not be empty for specified object"),
        ({"type": "object", "properties": {"a": {"type": "x"}}}, "properties[a].type", 'Unsupported value: "x"'),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, "properties[a].items", "must be specified"),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": {}}}},
            "properties[a].items.type",
            "must not be empty for specified array items",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
            "properties[a].default",
            'Invalid value: "string":  in body must be of type integer: "string"',
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
            "properties[a].pattern",
            "error parsing regexp: missing closing ): `(`",
        ),
    ],
)
def test_a_schema_that_is_not_structural_is_refused(schema: dict[str, Any], field: str, words: str) -> None:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}

    async def test(client: Client) -> None:
        status, answer = await client.call("POST", CRDS, crd(versions=[version]))
        causes = [(cause["field"], cause["message"]) for cause in answer["details"]["causes"]]
        assert (status, len(causes)) == (422, 1)
        assert causes[0][0] == f"spec.validation.openAPIV3Schema.{field}"
        assert words in causes[0][1]

    serve(test)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"scope": "Cluster"}, "spec.scope"), ({"names": {"kind": "Other"}}, "spec.names.kind")],
)
def test_what_objects_are_found_by_cannot_be_changed(change: dict[str, Any], field: str) -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        status, answer = await client.patch(ONE, {"spec": change})
        assert (status, [cause["field"] for cause in answer["details"]["causes"]]) == (422, [field])

    serve(test)
