"""OpenAPI: documents that hold together, say what kubectl looks for, and change only when their resources do."""

from typing import Any

import pytest

from embedded.server.asking import DEFINITIONS, ask, ask_tree, thing_definition
from embedded.server.inprocess import Client, serve
from heliostat.embedded.server.openapi.enums import CHOICES
from heliostat.embedded.server.openapi.schemas import full_name
from heliostat.kube.core_schema import definition
from heliostat.kube.protobuf_wire import read_fields

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def references(tree: Any) -> set[str]:
    if isinstance(tree, list):
        return {name for part in tree for name in references(part)}
    if not isinstance(tree, dict):
        return set()
    own = {tree["$ref"]} if isinstance(tree.get("$ref"), str) else set()
    return own | {name for part in tree.values() for name in references(part)}


async def document(client: Client, path: str) -> dict[str, Any]:
    index = await ask_tree(client, "/openapi/v3")
    address, _, value = index["paths"][path]["serverRelativeURL"].partition("?hash=")
    found: dict[str, Any] = await ask_tree(client, address, "application/json", hash=value)
    return found


def schema_of(found: dict[str, Any], group: str, version: str, kind: str) -> dict[str, Any]:
    """As kubectl looks it up: by group, version and kind."""
    wanted = {"group": group, "version": version, "kind": kind}
    schemas = found["components"]["schemas"].values()
    [schema] = [each for each in schemas if wanted in each.get("x-kubernetes-group-version-kind", [])]
    assert isinstance(schema, dict)
    return schema


def test_every_document_of_the_index_holds_together() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        index = await ask_tree(client, "/openapi/v3")
        assert {"api/v1", "apis/apps/v1", "apis/demo.io/v1", "apis/demo.io/v10"} <= index["paths"].keys()
        for path in index["paths"]:
            found = await document(client, path)
            known = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
            assert references(found) <= known, path
            identifiers = [
                item[method]["operationId"]
                for item in found["paths"].values()
                for method in item
                if method != "parameters"
            ]
            assert len(identifiers) == len(set(identifiers)), path

    serve(test)


def test_explain_finds_the_kind_behind_a_path_and_its_fields() -> None:
    async def test(client: Client) -> None:
        found = await document(client, "apis/apps/v1")
        read = found["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["get"]
        assert read["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
        assert read["operationId"] == "readAppsV1NamespacedDeployment"
        schema = schema_of(found, "apps", "v1", "Deployment")
        assert schema["properties"]["spec"] == {"$ref": f"#/components/schemas/{full_name('apps.v1.DeploymentSpec')}"}
        strategy = found["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentStrategy"]
        assert strategy["properties"]["type"]["enum"] == ["Recreate", "RollingUpdate"]

    serve(test)


def test_apply_finds_merge_keys_and_patch_types() -> None:
    async def test(client: Client) -> None:
        found = await document(client, "api/v1")
        spec = found["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]
        containers = spec["properties"]["containers"]
        assert (containers["x-kubernetes-patch-merge-key"], containers["x-kubernetes-patch-strategy"]) == (
            "name",
            "merge",
        )
        volumes = spec["properties"]["volumes"]
        assert volumes["x-kubernetes-patch-strategy"] == "merge,retainKeys"
        patch = found["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
        assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]

    serve(test)


def test_references_with_keywords_beside_them_stand_in_all_of() -> None:
    async def test(client: Client) -> None:
        found = await document(client, "apis/apps/v1")
        spec = found["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]
        assert spec["properties"]["strategy"] == {
            "allOf": [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy"}],
            "x-kubernetes-patch-strategy": "retainKeys",
        }

    serve(test)


@pytest.mark.parametrize("path", ["api/v1", "apis/batch/v1", "apis/demo.io/v1"])
def test_create_and_dry_run_find_their_parameters(path: str) -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        found = await document(client, path)
        patches = [item["patch"] for item in found["paths"].values() if "patch" in item]
        assert patches
        for patch in patches:
            if patch["x-kubernetes-action"] != "connect":
                assert {"dryRun", "fieldValidation"} <= {parameter["name"] for parameter in patch["parameters"]}

    serve(test)


def test_a_custom_resource_brings_its_own_schema_and_descriptions() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        found = await document(client, "apis/demo.io/v1")
        schema = schema_of(found, "demo.io", "v1", "Thing")
        assert schema["description"] == "What a thing is."
        assert schema["properties"]["spec"]["x-kubernetes-preserve-unknown-fields"] is True
        assert schema["properties"]["metadata"]["$ref"].endswith("meta.v1.ObjectMeta")
        assert found["components"]["schemas"]["io.demo.v1.Thing"] == schema
        scale = found["paths"]["/apis/demo.io/v1/namespaces/{namespace}/things/{name}/scale"]["get"]
        assert scale["x-kubernetes-group-version-kind"]["kind"] == "Scale"
        patch = found["paths"]["/apis/demo.io/v1/namespaces/{namespace}/things/{name}"]["patch"]
        assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]

    serve(test)


def test_a_hash_changes_with_the_resources_of_its_document_alone() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        before = (await ask_tree(client, "/openapi/v3"))["paths"]
        changed = await client.ok("GET", f"{DEFINITIONS}/things.demo.io")
        changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Something else."
        await client.ok("PUT", f"{DEFINITIONS}/things.demo.io", changed)
        after = (await ask_tree(client, "/openapi/v3"))["paths"]
        assert {path for path in before if before[path] != after[path]} == {"apis/demo.io/v1"}

    serve(test)


def test_a_document_is_kept_by_its_hash_and_an_old_hash_leads_to_the_new_one() -> None:
    async def test(client: Client) -> None:
        path = "/openapi/v3/apis/batch/v1"
        plain = await ask(client, path)
        tag = dict(plain.headers)["ETag"].strip('"')
        assert dict(plain.headers)["Cache-Control"] == "no-cache, private"
        by_hash = await ask(client, path, hash=tag)
        assert by_hash.body == plain.body
        assert "immutable" in dict(by_hash.headers)["Cache-Control"]
        moved = await ask(client, path, hash="OLD")
        assert (moved.status, dict(moved.headers)["Location"]) == (301, f"{path}?hash={tag}")
        known = await ask(client, path, headers={"if-none-match": f'"{tag}"'})
        assert (known.status, known.body) == (304, b"")

    serve(test)


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        ("/openapi/v3/apis/no.such/v1", "", 404),
        ("/openapi/v3/api/v1", "text/html", 406),
        ("/openapi/v2", "text/html", 406),
        ("/openapi/v2", "text/html, */*", 200),
    ],
)
def test_what_cannot_be_had(path: str, accept: str, status: int) -> None:
    async def test(client: Client) -> None:
        assert (await ask(client, path, accept)).status == status

    serve(test)


def names_in_protobuf(body: bytes) -> tuple[set[str], set[str]]:
    """Paths and definitions of a document, each an entry with its name first."""
    found: dict[int, set[str]] = {8: set(), 9: set()}
    for number, _form, part in read_fields(body):
        if number in found and isinstance(part, bytes):
            for _number, _form, entry in read_fields(part):
                assert isinstance(entry, bytes)
                name = next(value for each, _form, value in read_fields(entry) if each == 1)
                assert isinstance(name, bytes)
                found[number].add(name.decode())
    return found[8], found[9]


def test_version_two_holds_together_and_says_the_same_in_both_encodings() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        whole = await ask_tree(client, "/openapi/v2")
        assert references(whole) <= {f"#/definitions/{name}" for name in whole["definitions"]}
        assert whole["definitions"]["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["format"] == "int-or-string"
        encoded = await ask(client, "/openapi/v2", PROTOBUF)
        assert encoded.content_type == PROTOBUF.replace("@", ".")
        paths, definitions = names_in_protobuf(encoded.body)
        assert (paths, definitions) == (whole["paths"].keys(), whole["definitions"].keys())

    serve(test)


def test_version_two_leaves_out_what_it_cannot_say() -> None:
    async def test(client: Client) -> None:
        made = thing_definition()
        properties = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        properties["port"] = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
        properties["maybe"] = {"type": "string", "nullable": True}
        await client.ok("POST", DEFINITIONS, made)
        thing = (await ask_tree(client, "/openapi/v2"))["definitions"]["io.demo.v1.Thing"]
        assert thing["properties"]["port"] == {"type": "string", "format": "int-or-string"}
        assert thing["properties"]["maybe"] == {"type": "string"}
        assert "properties" not in thing["properties"]["spec"]  # anything may stand there

    serve(test)


def test_documents_are_kept_compressed_and_dropped_when_resources_change() -> None:
    async def test(client: Client) -> None:
        first = await ask(client, "/openapi/v3/apis/apps/v1")
        again = await ask(client, "/openapi/v3/apis/apps/v1")
        assert first == again
        before = await ask(client, "/openapi/v2")
        await client.ok("POST", DEFINITIONS, thing_definition())
        after = await ask(client, "/openapi/v2")
        assert b"io.demo.v1.Thing" not in before.body
        assert b"io.demo.v1.Thing" in after.body

    serve(test)


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_documented_choices_name_fields_that_are_there(name: str) -> None:
    properties = definition(name)["properties"]
    for field, values in CHOICES[name].items():
        own, _, element = field.partition(".")
        schema = properties[own][element] if element else properties[own]
        assert schema["type"] == "string"
        assert len(set(values.split("|"))) == len(values.split("|")) > 1
