"""Discovery: what is served, in both forms, and that it follows the resources at once."""

from typing import Any

import msgspec
import pytest

from embedded.server.asking import AGGREGATED, DEFINITIONS, ask, ask_tree, thing_definition
from embedded.server.inprocess import Client, serve
from heliostat.embedded.server.describing.discovery import GROUP_ORDER, version_rank


def named(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(row for row in rows if row["name"] == name)


def test_the_core_group_says_its_version_and_where_the_server_is() -> None:
    async def test(client: Client) -> None:
        answer = await ask(client, "/api", headers={"host": "127.0.0.1:6443"})
        assert msgspec.json.decode(answer.body) == {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
        }

    serve(test)


def test_groups_stand_in_the_order_of_kube_apiserver_and_custom_ones_last() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        listed = await ask_tree(client, "/apis")
        names = [group["name"] for group in listed["groups"]]
        known = [name for name in GROUP_ORDER if name in names]
        assert names == [*known, "demo.io"]
        assert names[:4] == ["apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io"]
        autoscaling = named(listed["groups"], "autoscaling")
        assert [version["version"] for version in autoscaling["versions"]] == ["v2", "v1"]
        assert autoscaling["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}

    serve(test)


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        (["v1", "v2", "v10"], ["v10", "v2", "v1"]),
        (["v1beta1", "v1", "v2alpha1"], ["v1", "v1beta1", "v2alpha1"]),
        (["v1beta1", "v2beta1", "v1beta2"], ["v2beta1", "v1beta2", "v1beta1"]),
        (["foo", "v1alpha1", "bar"], ["v1alpha1", "bar", "foo"]),
        (["v01", "v1"], ["v1", "v01"]),
    ],
)
def test_versions_stand_by_maturity_then_number_then_name(given: list[str], ordered: list[str]) -> None:
    assert sorted(given, key=version_rank) == ordered


def test_a_group_by_its_own_path() -> None:
    async def test(client: Client) -> None:
        version = {"groupVersion": "apps/v1", "version": "v1"}
        for path in ("/apis/apps", "/apis/apps/"):
            group = await ask_tree(client, path)
            assert group == {
                "kind": "APIGroup", "apiVersion": "v1", "name": "apps", "versions": [version],
                "preferredVersion": version,
            }  # fmt: skip

    serve(test)


@pytest.mark.parametrize(
    ("path", "row"),
    [
        (
            "/api/v1",
            {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "shortNames": ["po"],
             "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
             "categories": ["all"], "storageVersionHash": "xPOwRZ+Yhw8="},
        ),
        (
            "/api/v1",
            {"name": "pods/eviction", "singularName": "", "namespaced": True, "group": "policy", "version": "v1",
             "kind": "Eviction", "verbs": ["create"]},
        ),
        (
            "/api/v1",
            {"name": "pods/binding", "singularName": "", "namespaced": True, "kind": "Binding", "verbs": ["create"]},
        ),
        (
            "/api/v1",
            {"name": "serviceaccounts/token", "singularName": "", "namespaced": True,
             "group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest", "verbs": ["create"]},
        ),
        (
            "/api/v1",
            {"name": "namespaces/finalize", "singularName": "", "namespaced": False, "kind": "Namespace",
             "verbs": ["update"]},
        ),
        (
            "/apis/apps/v1",
            {"name": "deployments/scale", "singularName": "", "namespaced": True, "group": "autoscaling",
             "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"]},
        ),
    ],
)  # fmt: skip
def test_resources_and_subresources_of_a_version(path: str, row: dict[str, Any]) -> None:
    async def test(client: Client) -> None:
        listed = await ask_tree(client, path)
        assert named(listed["resources"], row["name"]) == row

    serve(test)


def test_a_custom_resource_is_there_at_once_and_gone_at_once() -> None:
    async def test(client: Client) -> None:
        assert (await ask(client, "/apis/demo.io")).status == 404
        await client.ok("POST", DEFINITIONS, thing_definition())
        group = await ask_tree(client, "/apis/demo.io")
        assert [version["version"] for version in group["versions"]] == ["v10", "v1", "v2beta1"]
        listed = await ask_tree(client, "/apis/demo.io/v1")
        assert [row["name"] for row in listed["resources"]] == ["things", "things/status", "things/scale"]
        assert named(listed["resources"], "things")["shortNames"] == ["th"]
        await client.ok("DELETE", f"{DEFINITIONS}/things.demo.io")
        assert (await ask(client, "/apis/demo.io")).status == 404

    serve(test)


def flatten(aggregated: dict[str, Any]) -> set[tuple[Any, ...]]:
    """Everything that the aggregated form says, one fact a row."""
    facts: set[tuple[Any, ...]] = set()
    for group in aggregated["items"]:
        for version in group["versions"]:
            place = (group["metadata"].get("name", ""), version["version"])
            for row in version["resources"]:
                scope = row["scope"] == "Namespaced"
                facts.add((*place, row["resource"], row["responseKind"]["kind"], scope, *row["verbs"]))
                for sub in row.get("subresources", []):
                    name = f"{row['resource']}/{sub['subresource']}"
                    facts.add((*place, name, sub["responseKind"]["kind"], scope, *sub["verbs"]))
    return facts


def test_both_forms_of_discovery_say_the_same() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        everything: set[tuple[Any, ...]] = set()
        for path in ("/api", "/apis"):
            everything |= flatten(await ask_tree(client, path, AGGREGATED))
        legacy: set[tuple[Any, ...]] = set()
        for group, version in {fact[:2] for fact in everything}:
            path = f"/apis/{group}/{version}" if group else "/api/v1"
            for row in (await ask_tree(client, path))["resources"]:
                legacy.add((group, version, row["name"], row["kind"], row["namespaced"], *row["verbs"]))
        assert legacy == everything
        assert len({fact[2] for fact in everything}) > 100

    serve(test)


def test_the_aggregated_form_is_not_sent_twice_to_who_has_it() -> None:
    async def test(client: Client) -> None:
        first = await ask(client, "/apis", f"{AGGREGATED},application/json")
        assert first.content_type == AGGREGATED
        tag = dict(first.headers)["ETag"]
        again = await ask(client, "/apis", AGGREGATED, headers={"if-none-match": tag})
        assert (again.status, again.body, again.content_type) == (304, b"", AGGREGATED)
        await client.ok("POST", DEFINITIONS, thing_definition())
        changed = await ask(client, "/apis", AGGREGATED, headers={"if-none-match": tag})
        assert changed.status == 200
        assert b'"demo.io"' in changed.body

    serve(test)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json", "APIGroupList"),
        ("*/*", "APIGroupList"),
        (f"{AGGREGATED.replace('v=v2', 'v=v2beta1')},application/json", "APIGroupList"),
        (f"application/json,{AGGREGATED}", "APIGroupList"),
        (f"{AGGREGATED.replace('v=v2', 'v=v2beta1')},{AGGREGATED}", "APIGroupDiscoveryList"),
    ],
)
def test_which_form_of_discovery_a_client_gets(accept: str, kind: str) -> None:
    async def test(client: Client) -> None:
        assert (await ask_tree(client, "/apis", accept))["kind"] == kind

    serve(test)


@pytest.mark.parametrize(
    ("path", "is_status"),
    [
        ("/apis/apps/v9", True),
        ("/apis/apps/v1/nothing", True),
        ("/api/v2", True),
        ("/api/v1/nothing", True),
        ("/apis/no.such", False),
        ("/apis/no.such/v1", False),
        ("/apis//v1", False),
        ("/nothing/here", False),
        ("/openapi", False),
        ("/openapi/v4", False),
        ("/healthz/nothing", False),
    ],
)
def test_what_is_not_there_is_a_status_inside_a_served_group_and_a_page_elsewhere(path: str, is_status: bool) -> None:
    async def test(client: Client) -> None:
        answer = await ask(client, path)
        assert answer.status == 404
        if is_status:
            assert msgspec.json.decode(answer.body)["reason"] == "NotFound"
        else:
            assert (answer.body, answer.content_type) == (b"404 page not found\n", "text/plain; charset=utf-8")

    serve(test)


def test_the_version_names_kubernetes_and_heliostat() -> None:
    async def test(client: Client) -> None:
        version = await ask_tree(client, "/version")
        assert (version["major"], version["minor"]) == ("1", "34")
        assert version["gitVersion"].startswith("v1.34.0+heliostat.")
        assert version["goVersion"].startswith("python3.")
        assert version["platform"].count("/") == 1

    serve(test)


def test_the_root_lists_the_paths_that_answer() -> None:
    async def test(client: Client) -> None:
        paths = (await ask_tree(client, "/"))["paths"]
        assert paths == sorted(paths)
        for path in paths:
            assert (await ask(client, path)).status == 200, path

    serve(test)


def test_what_the_server_says_about_itself_cannot_be_written() -> None:
    async def test(client: Client) -> None:
        status, answer = await client.call("POST", "/apis/apps", {})
        assert (status, answer["reason"]) == (405, "MethodNotAllowed")

    serve(test)
