"""Create, get, update, patch and delete, as every kind has them."""

from typing import Any

import pytest

from embedded.server.inprocess import MAPS, Client, config_map, serve

PODS = "/api/v1/namespaces/default/pods"


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i"}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def test_a_created_object_gets_what_only_the_server_can_give() -> None:
    async def test(client: Client) -> None:
        status, tree = await client.call(
            "POST", MAPS, config_map(uid="mine", generation=7, creationTimestamp="2001-01-01T00:00:00Z")
        )
        assert status == 201
        metadata = tree["metadata"]
        assert metadata["namespace"] == "default"
        assert metadata["uid"].startswith("00000000-")
        assert metadata["creationTimestamp"] == "2027-01-15T08:00:00Z"
        assert metadata["generation"] == 7  # as kube-apiserver has it where it does not count generations itself
        assert await client.ok("GET", f"{MAPS}/a") == tree

    serve(test)


def test_a_name_is_taken_only_once() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", MAPS, config_map())
        status, answer = await client.call("POST", MAPS, config_map())
        assert (status, answer["reason"]) == (409, "AlreadyExists")
        assert answer["message"] == 'configmaps "a" already exists'
        assert answer["details"] == {"name": "a", "kind": "configmaps"}

    serve(test)


def test_generated_names_differ() -> None:
    async def test(client: Client) -> None:
        tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"generateName": "x-"}}
        names = {(await client.ok("POST", MAPS, tree))["metadata"]["name"] for _ in range(20)}
        assert len(names) == 20
        assert all(name.startswith("x-") and len(name) == 7 for name in names)

    serve(test)


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (b"{", 400, "json parse error: unexpected end of JSON input ({)"),
        (b"[]", 400, "json: cannot unmarshal array into Go value"),
        (b'{"kind": 1}', 400, "json: cannot unmarshal number into Go struct field .kind of type string"),
        ({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}}, 400, "converting (v1.Secret) to (core.Con"),
        ({"kind": "ConfigMap", "apiVersion": "v2", "metadata": {"name": "a"}}, 400, 'no kind "ConfigMap" is regis'),
        (config_map(namespace="other"), 400, "does not match the namespace"),
        (config_map(resourceVersion="3"), 500, "should not be set"),
        (config_map("A_b"), 422, "metadata.name"),
        (config_map(labels={"a b": "c"}), 422, "metadata.labels"),
        ({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}}, 422, "name or generateName is required"),
        ({**config_map(), "data": {"k": 1}}, 400, "cannot be handled as a ConfigMap"),
    ],
)
def test_what_cannot_be_created_is_told(body: Any, code: int, words: str) -> None:
    async def test(client: Client) -> None:
        status, answer = await client.call("POST", MAPS, body)
        assert (status, answer["code"]) == (code, code)
        assert words in answer["message"]
        assert (await client.ok("GET", MAPS))["items"] == []

    serve(test)


def test_an_object_needs_its_namespace() -> None:
    async def test(client: Client) -> None:
        status, answer = await client.call("POST", "/api/v1/namespaces/nowhere/configmaps", config_map())
        assert (status, answer["message"]) == (404, 'namespaces "nowhere" not found')

    serve(test)


def test_yaml_bodies_are_read() -> None:
    async def test(client: Client) -> None:
        body = b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: yes-yaml}\ndata: {k: 'v'}\n"
        status, _tree = await client.call("POST", MAPS, body, "application/yaml")
        assert status == 201
        status, answer = await client.call("POST", MAPS, b"x", "text/plain")
        assert (status, answer["reason"]) == (415, "UnsupportedMediaType")

    serve(test)


@pytest.mark.parametrize(
    ("validation", "status", "warned"), [("Strict", 400, False), ("Warn", 201, True), ("Ignore", 201, False)]
)
def test_unknown_fields(validation: str, status: int, warned: bool) -> None:
    async def test(client: Client) -> None:
        code, answer = await client.call("POST", MAPS, {**config_map(), "dta": {}}, fieldValidation=validation)
        assert code == status
        assert "dta" not in answer
        if status == 400:
            assert answer["message"].endswith('ConfigMap: strict decoding error: unknown field "dta"')

    serve(test)


class TestUpdate:
    def test_the_version_must_be_the_latest(self) -> None:
        async def test(client: Client) -> None:
            old = await client.ok("POST", MAPS, config_map())
            await client.ok("PUT", f"{MAPS}/a", {**old, "data": {"k": "2"}})
            status, answer = await client.call("PUT", f"{MAPS}/a", {**old, "data": {"k": "3"}})
            assert (status, answer["reason"]) == (409, "Conflict")
            assert "the object has been modified" in answer["message"]

        serve(test)

    def test_without_a_version_the_last_writer_wins(self) -> None:
        async def test(client: Client) -> None:
            await client.ok("POST", MAPS, config_map())
            tree = await client.ok("PUT", f"{MAPS}/a", {**config_map(), "data": {"k": "2"}})
            assert tree["data"] == {"k": "2"}

        serve(test)

    def test_nothing_changed_writes_nothing(self) -> None:
        async def test(client: Client) -> None:
            old = await client.ok("POST", MAPS, config_map())
            assert await client.ok("PUT", f"{MAPS}/a", old) == old

        serve(test)

    def test_the_servers_fields_stay(self) -> None:
        async def test(client: Client) -> None:
            old = await client.ok("POST", MAPS, config_map())
            changed = {**old, "metadata": {**old["metadata"], "creationTimestamp": "2000-01-01T00:00:00Z"}}
            tree = await client.ok("PUT", f"{MAPS}/a", {**changed, "data": {}})
            assert tree["metadata"]["creationTimestamp"] == old["metadata"]["creationTimestamp"]
            other = {**old["metadata"], "uid": "else", "resourceVersion": ""}
            status, answer = await client.call("PUT", f"{MAPS}/a", {**old, "metadata": other})
            assert (status, answer["reason"]) == (409, "Conflict")
            assert "UID in precondition: else" in answer["message"]

        serve(test)

    def test_what_is_not_there_cannot_be_updated(self) -> None:
        async def test(client: Client) -> None:
            assert (await client.call("PUT", f"{MAPS}/a", config_map()))[0] == 404

        serve(test)


class TestStatus:
    def test_spec_and_status_have_doors_of_their_own(self) -> None:
        async def test(client: Client) -> None:
            deployment = {
                "kind": "Deployment",
                "apiVersion": "apps/v1",
                "metadata": {"name": "d"},
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
                "status": {"replicas": 9},
            }
            path = "/apis/apps/v1/namespaces/default/deployments"
            made = await client.ok("POST", path, deployment)
            assert made.get("status", {}).get("replicas") is None
            assert made["metadata"]["generation"] == 1
            told = await client.ok("PUT", f"{path}/d/status", {**made, "status": {"replicas": 2}})
            assert told["status"]["replicas"] == 2
            assert told["metadata"]["generation"] == 1
            grown = {**told, "spec": {**told["spec"], "replicas": 5}, "status": {"replicas": 7}}
            scaled = await client.ok("PUT", f"{path}/d", grown)
            assert scaled["status"]["replicas"] == 2
            assert scaled["metadata"]["generation"] == 2

        serve(test)


class TestPatch:
    def test_a_merge_patch(self) -> None:
        async def test(client: Client) -> None:
            await client.ok("POST", MAPS, config_map())
            status, tree = await client.patch(f"{MAPS}/a", {"data": {"k": None, "z": "1"}})
            assert (status, tree["data"]) == (200, {"z": "1"})

        serve(test)

    def test_a_patch_may_name_its_version(self) -> None:
        async def test(client: Client) -> None:
            await client.ok("POST", MAPS, config_map())
            status, answer = await client.patch(f"{MAPS}/a", {"metadata": {"resourceVersion": "1"}, "data": {}})
            assert (status, answer["reason"]) == (409, "Conflict")

        serve(test)


class TestDelete:
    def test_it_is_gone_at_once(self) -> None:
        async def test(client: Client) -> None:
            made = await client.ok("POST", MAPS, config_map())
            answer = await client.ok("DELETE", f"{MAPS}/a")
            assert (answer["kind"], answer["status"]) == ("Status", "Success")
            assert answer["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
            assert (await client.call("GET", f"{MAPS}/a"))[0] == 404
            assert (await client.call("DELETE", f"{MAPS}/a"))[0] == 404

        serve(test)

    def test_preconditions_must_hold(self) -> None:
        async def test(client: Client) -> None:
            made = await client.ok("POST", MAPS, config_map())
            for wrong in ({"uid": "else"}, {"resourceVersion": "1"}):
                status, answer = await client.call("DELETE", f"{MAPS}/a", {"preconditions": wrong})
                assert (status, answer["reason"]) == (409, "Conflict")
            right = {"uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]}
            await client.ok("DELETE", f"{MAPS}/a", {"preconditions": right})

        serve(test)

    def test_a_finalizer_holds_it_until_it_is_taken_off(self) -> None:
        async def test(client: Client) -> None:
            await client.ok("POST", MAPS, config_map(finalizers=["a.b/c"]))
            held = await client.ok("DELETE", f"{MAPS}/a")
            assert held["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:00Z"
            status, answer = await client.patch(f"{MAPS}/a", {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}})
            assert status == 422
            assert "no new finalizers can be added" in answer["message"]
            assert (await client.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}}))[0] == 200
            assert (await client.call("GET", f"{MAPS}/a"))[0] == 404

        serve(test)

    @pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
    def test_propagation_is_a_finalizer_for_the_collector(self, policy: str, finalizer: str) -> None:
        async def test(client: Client) -> None:
            await client.ok("POST", MAPS, config_map())
            held = await client.ok("DELETE", f"{MAPS}/a", {"propagationPolicy": policy})
            assert held["metadata"]["finalizers"] == [finalizer]

        serve(test)

    def test_a_running_pod_gets_its_grace_period(self) -> None:
        async def test(client: Client) -> None:
            await client.ok("POST", PODS, pod(nodeName="n", terminationGracePeriodSeconds=45))
            held = await client.ok("DELETE", f"{PODS}/p")
            assert held["metadata"]["deletionGracePeriodSeconds"] == 45
            assert held["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:45Z"
            shorter = await client.ok("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 5})
            assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
            longer = await client.ok("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 500})
            assert longer["metadata"]["deletionGracePeriodSeconds"] == 5
            assert (await client.ok("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0}))["kind"] == "Pod"

        serve(test)

    def test_a_pod_that_no_node_has_goes_at_once(self) -> None:
        async def test(client: Client) -> None:
            await client.ok("POST", PODS, pod())
            assert (await client.ok("DELETE", f"{PODS}/p"))["kind"] == "Pod"

        serve(test)

    def test_a_collection_goes_by_selector(self) -> None:
        async def test(client: Client) -> None:
            for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
                await client.ok("POST", MAPS, config_map(name, labels={"l": label}))
            await client.ok("DELETE", MAPS, labelSelector="l=x")
            assert [item["metadata"]["name"] for item in (await client.ok("GET", MAPS))["items"]] == ["b"]

        serve(test)


def test_a_dry_run_leaves_no_trace() -> None:
    async def test(client: Client) -> None:
        assert (await client.call("POST", MAPS, config_map(), dryRun="All"))[0] == 201
        assert (await client.call("GET", f"{MAPS}/a"))[0] == 404
        made = await client.ok("POST", MAPS, config_map())
        assert (await client.call("POST", MAPS, config_map(), dryRun="All"))[0] == 409
        changed = await client.ok("PUT", f"{MAPS}/a", {**made, "data": {"k": "2"}}, dryRun="All")
        assert changed["data"] == {"k": "2"}
        await client.ok("DELETE", f"{MAPS}/a", dryRun="All")
        assert await client.ok("GET", f"{MAPS}/a") == made
        assert (await client.call("POST", MAPS, config_map(), dryRun="Some"))[0] == 422

    serve(test)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/namespaces/default/unknowns", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/a/status", 404),
        ("POST", "/api/v1/namespaces/default/configmaps/a", 405),
        ("PUT", MAPS, 405),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
    ],
)
def test_paths_and_methods_that_are_not_there(method: str, path: str, code: int) -> None:
    async def test(client: Client) -> None:
        status, answer = await client.call(method, path)
        assert (status, answer["kind"], answer["status"]) == (code, "Status", "Failure")

    serve(test)


@pytest.mark.parametrize(("query", "place"), [({}, "/registry/configmaps"), ({"dryRun": "All"}, "/configmaps")])
def test_who_names_another_incarnation_is_told_where_it_was_looked_for(query: dict[str, str], place: str) -> None:
    async def test(client: Client) -> None:
        tree = await client.ok("POST", MAPS, config_map())
        tree["metadata"]["uid"] = "another"
        status, answer = await client.call("PUT", f"{MAPS}/a", tree, **query)
        assert status == 409
        assert f"Code: 4, Key: {place}/default/a, ResourceVersion: 0" in answer["message"]

    serve(test)
