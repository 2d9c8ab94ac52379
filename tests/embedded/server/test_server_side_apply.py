"""Server-side apply through the server: owners, conflicts, force, creation, status."""

from typing import Any

from embedded.server.inprocess import MAPS, Client, config_map, serve
from embedded.server.test_custom_resources import CRDS, THINGS, crd, thing


def applied(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


async def apply(client: Client, manager: str, tree: Any, path: str = f"{MAPS}/a", **query: str) -> tuple[int, Any]:
    return await client.patch(path, tree, "apply-patch+yaml", fieldManager=manager, **query)


def managers(tree: dict[str, Any]) -> list[tuple[str, str]]:
    return [(entry["manager"], entry["operation"]) for entry in tree["metadata"].get("managedFields", [])]


def test_an_apply_creates_and_owns() -> None:
    async def test(client: Client) -> None:
        status, tree = await apply(client, "one", applied(k="1"))
        assert status == 201
        assert managers(tree) == [("one", "Apply")]
        assert tree["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {"f:k": {}}}
        status, again = await apply(client, "one", applied(k="1"))
        assert (status, again) == (200, tree)

    serve(test)


def test_yaml_is_applied_too() -> None:
    async def test(client: Client) -> None:
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: 'yes'\n"
        status, tree = await apply(client, "one", body)
        assert (status, tree["data"]) == (201, {"k": "yes"})

    serve(test)


def test_somebody_elses_field_is_a_conflict_unless_forced() -> None:
    async def test(client: Client) -> None:
        await apply(client, "one", applied(k="1"))
        status, answer = await apply(client, "two", applied(k="2"))
        assert (status, answer["reason"]) == (409, "Conflict")
        assert answer["details"]["causes"][0]["reason"] == "FieldManagerConflict"
        status, tree = await apply(client, "two", applied(k="2"), force="true")
        assert (status, tree["data"]) == (200, {"k": "2"})
        assert managers(tree) == [("two", "Apply")]

    serve(test)


def test_what_is_no_longer_applied_goes() -> None:
    async def test(client: Client) -> None:
        await apply(client, "one", applied(k="1", z="1"))
        await apply(client, "two", applied(y="1"))
        _status, tree = await apply(client, "one", applied(k="1"))
        assert tree["data"] == {"k": "1", "y": "1"}

    serve(test)


def test_objects_are_tracked_from_their_first_apply_on() -> None:
    async def test(client: Client) -> None:
        made = await client.ok("POST", MAPS, config_map())
        assert "managedFields" not in made["metadata"]
        _status, tree = await apply(client, "one", applied(z="1"))
        assert sorted(managers(tree)) == [("before-first-apply", "Update"), ("one", "Apply")]
        _status, patched = await client.patch(f"{MAPS}/a", {"data": {"z": "2"}}, fieldManager="three")
        assert ("three", "Update") in managers(patched)

    serve(test)


def test_an_apply_needs_a_manager_and_only_an_apply_may_force() -> None:
    async def test(client: Client) -> None:
        status, answer = await client.patch(f"{MAPS}/a", applied(), "apply-patch+yaml")
        assert (status, answer["reason"]) == (422, "Invalid")
        assert "fieldManager" in answer["message"]
        status, answer = await client.patch(f"{MAPS}/a", {}, force="true")
        assert (status, answer["reason"]) == (422, "Invalid")

    serve(test)


def test_a_dry_apply_leaves_no_trace() -> None:
    async def test(client: Client) -> None:
        status, _tree = await apply(client, "one", applied(k="1"), dryRun="All")
        assert status == 201
        assert (await client.call("GET", f"{MAPS}/a"))[0] == 404

    serve(test)


def test_custom_resources_and_their_status_are_applied() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", CRDS, crd())
        status, tree = await apply(client, "one", thing(), f"{THINGS}/t")
        assert (status, managers(tree)) == (201, [("one", "Apply")])
        bare = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "status": {"ready": True}}
        status, told = await apply(client, "two", bare, f"{THINGS}/t/status")
        assert (status, told["status"], told["spec"]) == (200, {"ready": True}, tree["spec"])
        entry = next(item for item in told["metadata"]["managedFields"] if item["manager"] == "two")
        assert entry["subresource"] == "status"
        assert (await apply(client, "two", bare, f"{THINGS}/none/status"))[0] == 404

    serve(test)


def test_an_integer_that_its_field_cannot_hold_is_refused_and_not_cut_to_size() -> None:
    async def test(client: Client) -> None:
        tree = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "a"},
            "spec": {"replicas": 2**32 + 2},
        }
        path = "/apis/apps/v1/namespaces/default/deployments"
        status, answer = await apply(client, "one", tree, f"{path}/a")
        assert (status, answer["reason"]) == (400, "BadRequest")
        assert answer["message"].endswith(
            "cannot unmarshal number 4294967298 into Go struct field DeploymentSpec.spec.replicas of type int32"
        )
        assert await client.call("POST", path, tree) == (status, answer)

    serve(test)


def test_a_field_that_is_always_shown_is_nobodys_until_somebody_sets_it() -> None:
    """kube-apiserver shows ``rules: null`` of a Role without rules, and lets any manager apply some."""
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]

    async def test(client: Client) -> None:
        assert (await client.ok("POST", roles, role))["rules"] is None
        status, tree = await apply(client, "one", {**role, "rules": rules}, f"{roles}/r")
        assert (status, managers(tree)) == (200, [("one", "Apply")])

    serve(test)
