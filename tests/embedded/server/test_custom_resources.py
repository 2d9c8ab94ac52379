"""CustomResourceDefinitions made at run time, and the objects of them."""

from typing import Any

from embedded.server.inprocess import Client, serve

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"


def crd(**changes: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1},
                    "color": {"type": "string", "default": "red", "enum": ["red", "blue"]},
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
    versions: list[dict[str, Any]] = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        for name in ("v1", "v1beta1")
    ]
    names = {"plural": "things", "kind": "Thing", "shortNames": ["th"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions, **changes},
    }


def thing(name: str = "t", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"size": 1, **spec}}


def test_it_is_established_and_served_at_once() -> None:
    async def test(client: Client) -> None:
        assert (await client.ok("POST", CRDS, crd()))["status"]["conditions"] is None
        made = await client.ok("GET", f"{CRDS}/things.example.com")
        conditions = {item["type"]: item["status"] for item in made["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}
        assert made["status"]["storedVersions"] == ["v1"]
        assert made["spec"]["names"]["listKind"] == "ThingList"
        tree = await client.ok("POST", THINGS, thing())
        assert tree["spec"] == {"size": 1, "color": "red"}
        assert tree["metadata"]["generation"] == 1
        assert (await client.ok("GET", THINGS))["kind"] == "ThingList"

    serve(test)


def test_objects_are_held_to_their_schema() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        wrong = {**thing(), "spec": {"size": 0, "color": "green"}}
        status, answer = await client.call("POST", THINGS, wrong)
        assert (status, answer["reason"]) == (422, "Invalid")
        assert {cause["field"] for cause in answer["details"]["causes"]} == {"spec.size", "spec.color"}
        status, answer = await client.call("POST", THINGS, {**thing(), "spec": {}})
        assert answer["details"]["causes"] == [
            {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.size"}
        ]

    serve(test)


def test_unknown_fields_are_pruned() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        tree = await client.ok("POST", THINGS, thing(extra="x"))
        assert "extra" not in tree["spec"]

    serve(test)


def test_every_version_shows_the_same_object() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        await client.ok("POST", THINGS, thing())
        beta = THINGS.replace("/v1/", "/v1beta1/")
        tree = await client.ok("GET", f"{beta}/t")
        assert tree["apiVersion"] == "example.com/v1beta1"
        (item,) = (await client.ok("GET", beta))["items"]
        assert item["apiVersion"] == "example.com/v1beta1"
        changed = await client.ok("PUT", f"{beta}/t", {**tree, "spec": {"size": 4}})
        assert changed["apiVersion"] == "example.com/v1beta1"
        assert (await client.ok("GET", f"{THINGS}/t"))["spec"]["size"] == 4

    serve(test)


def test_status_is_written_through_its_own_door_and_generation_follows_the_spec() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        made = await client.ok("POST", THINGS, {**thing(), "status": {"ready": True}})
        assert "status" not in made
        told = await client.ok("PUT", f"{THINGS}/t/status", {**made, "spec": {"size": 9}, "status": {"ready": True}})
        assert (told["spec"]["size"], told["status"], told["metadata"]["generation"]) == (1, {"ready": True}, 1)
        grown = await client.ok("PUT", f"{THINGS}/t", {**told, "spec": {"size": 9}})
        assert (grown["status"], grown["metadata"]["generation"]) == ({"ready": True}, 2)

    serve(test)


def test_an_update_must_name_its_version() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        await client.ok("POST", THINGS, thing())
        status, answer = await client.call("PUT", f"{THINGS}/t", thing(size=2))
        assert status == 422
        assert "metadata.resourceVersion" in answer["message"]

    serve(test)


def test_a_definition_that_makes_no_sense_is_refused() -> None:
    async def test(client: Client) -> None:
        for wrong in (crd(group="other.com"), crd(versions=[{**crd()["spec"]["versions"][1]}])):
            status, answer = await client.call("POST", CRDS, wrong)
            assert (status, answer["reason"]) == (422, "Invalid")
        assert (await client.call("GET", THINGS))[0] == 404

    serve(test)


def test_a_deleted_definition_takes_its_objects_along() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        await client.ok("POST", THINGS, thing())
        await client.ok("DELETE", f"{CRDS}/things.example.com")
        assert (await client.call("GET", THINGS))[0] == 404
        await client.ok("POST", CRDS, crd())
        assert (await client.ok("GET", THINGS))["items"] == []

    serve(test)


def ruled(rule: str, message: str = "") -> dict[str, Any]:
    definition = crd()
    for version in definition["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["x-kubernetes-validations"] = [{"rule": rule, **({"message": message} if message else {})}]
    return definition


def test_rules_hold_for_new_and_for_changed_objects() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, ruled("self.size < 10", "too large"))
        status, answer = await client.call("POST", THINGS, thing(size=12))
        assert status == 422
        assert answer["details"]["causes"] == [
            {"reason": "FieldValueInvalid", "message": 'Invalid value: "object": too large', "field": "spec"}
        ]
        made = await client.ok("POST", THINGS, thing(size=2))
        assert (await client.call("PUT", f"{THINGS}/t", {**made, "spec": {"size": 12}}))[0] == 422

    serve(test)


def test_transition_rules_look_at_the_object_before() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, ruled("self.size >= oldSelf.size"))
        made = await client.ok("POST", THINGS, thing(size=5))
        grown = await client.ok("PUT", f"{THINGS}/t", {**made, "spec": {"size": 6}})
        status, answer = await client.call("PUT", f"{THINGS}/t", {**grown, "spec": {"size": 5}})
        assert status == 422
        assert "failed rule: self.size >= oldSelf.size" in answer["message"]

    serve(test)


def test_a_rule_that_cannot_be_compiled_refuses_the_definition() -> None:
    async def test(client: Client) -> None:
        status, answer = await client.call("POST", CRDS, ruled("self.nothing > 1"))
        assert (status, answer["reason"]) == (422, "Invalid")
        assert "compilation failed" in answer["message"]

    serve(test)


def test_a_patch_type_that_is_not_taken_is_told_before_its_options() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        await client.ok("POST", THINGS, thing())
        status, _ = await client.patch(f"{THINGS}/t", {}, "strategic-merge-patch+json", fieldValidation="Odd")
        assert status == 415

    serve(test)


def test_a_finalizer_may_be_there_twice() -> None:
    """The schema of metadata calls finalizers a set, and kube-apiserver does not hold custom resources to it."""

    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        twice = thing()
        twice["metadata"]["finalizers"] = ["example.com/hold", "example.com/hold"]
        made = await client.ok("POST", THINGS, twice)
        assert made["metadata"]["finalizers"] == twice["metadata"]["finalizers"]

    serve(test)


def test_a_key_of_any_kind_stands_behind_a_dot_in_what_the_schema_says() -> None:
    definition = crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["labels"] = {
        "type": "object",
        "additionalProperties": {"type": "string"},
    }

    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, definition)
        status, answer = await client.call("POST", THINGS, thing(labels={"bad key!": {}}))
        (cause,) = answer["details"]["causes"]
        assert (status, cause["field"]) == (422, "spec.labels.bad key!")
        assert cause["message"].endswith('spec.labels.bad key! in body must be of type string: "object"')

    serve(test)


def test_another_incarnation_is_told_before_a_version_is_missed() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        await client.ok("POST", THINGS, thing())
        status, answer = await client.call("PUT", f"{THINGS}/t", thing())
        assert (status, "must be specified for an update" in answer["message"]) == (422, True)
        other = thing()
        other["metadata"]["uid"] = "another"
        status, answer = await client.call("PUT", f"{THINGS}/t", other)
        assert (status, "UID in precondition: another" in answer["message"]) == (409, True)

    serve(test)
