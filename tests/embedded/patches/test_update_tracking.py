"""How writes that are no applies move ownership, and what becomes of managedFields that clients send."""

from typing import Any

import pytest

from embedded.patches.applying import (
    CONFIG_MAP,
    DEPLOYMENT,
    LATER,
    NOW,
    SPEC,
    THING,
    THING_TYPES,
    applied,
    bare,
    config_map,
    core_endpoint,
    owned_spec,
    owners,
    thing,
    thing_endpoint,
    thing_schema,
    updated,
    with_spec,
)
from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.patches.apply.elements import field_path, show_path
from heliostat.embedded.server.patches.apply.field_set import build_field_set, read_field_set, write_field_set
from heliostat.embedded.server.patches.apply.old_updates import MAX_UPDATERS
from heliostat.embedded.server.patches.apply.reset_fields import writable_fields
from heliostat.embedded.server.patches.apply.shapes import custom_types
from heliostat.embedded.server.patches.apply.tracking import apply_patch
from heliostat.embedded.server.patches.apply.versions import Endpoint
from heliostat.kube.jsontree import JsonObject


def test_nothing_is_tracked_before_the_first_apply() -> None:
    assert updated(None, thing(text="1")) == thing(text="1")
    assert updated(thing(text="1"), thing(text="2")) == thing(text="2")


def test_an_update_owns_what_it_changed_and_added() -> None:
    tree = applied(None, thing(text="1", map={"a": "1"}, set=["x"], atoms=["x"]))
    new = with_spec(tree, map={"a": "1", "b": "2"}, set=["x", "y"], atoms=["y"], number=1, table=[{"k": "r"}])
    result = updated(tree, new)
    assert owned_spec(result, "Update u") == {
        "f:atoms": {},
        "f:map": {"f:b": {}},
        "f:number": {},
        "f:set": {'v:"y"': {}},
        "f:table": {".": {}, 'k:{"k":"r","p":1}': {".": {}, "f:k": {}}},
    }
    assert owned_spec(result) == {"f:map": {"f:a": {}}, "f:set": {'v:"x"': {}}, "f:text": {}}
    entry = result["metadata"]["managedFields"][1]
    assert (entry["time"], entry["apiVersion"], entry["operation"]) == (LATER, THING, "Update")


def test_what_an_update_removes_is_owned_by_nobody() -> None:
    tree = applied(None, thing(text="1", number=1))
    result = updated(tree, with_spec(tree, text=None))
    assert owners(result) == {"Apply a": {"f:spec": {"f:number": {}}}}
    assert result["metadata"]["managedFields"][0]["time"] == NOW


def test_an_update_that_changes_nothing_leaves_the_entries_alone() -> None:
    tree = applied(None, thing(text="1"))
    assert updated(tree, tree) == tree
    assert updated(tree, bare(tree)) == tree


def test_a_second_update_adds_to_the_first() -> None:
    tree = applied(None, thing())
    tree = updated(tree, with_spec(tree, text="1"))
    tree = updated(tree, with_spec(tree, number=1))
    assert owned_spec(tree, "Update u") == {"f:number": {}, "f:text": {}}


def test_an_update_without_a_name_is_unknown() -> None:
    tree = applied(None, thing())
    assert "Update unknown" in owners(updated(tree, with_spec(tree, text="1"), ""))


def test_status_updates_own_status_only() -> None:
    tree = applied(None, thing(text="1"))
    new = {**with_spec(tree, text="2"), "status": {"phase": "x"}}
    result = updated(tree, new, endpoint=thing_endpoint("status"))
    assert owners(result)["Update u status"] == {"f:status": {".": {}, "f:phase": {}}}
    assert owned_spec(result) == {"f:text": {}}
    assert owners(updated(tree, new))["Update u"] == {"f:spec": {"f:text": {}}}


def test_scaling_owns_replicas_and_has_no_time() -> None:
    live = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replicas": 1}}
    tree = applied(None, live, endpoint=DEPLOYMENT)
    scale = core_endpoint("apps/v1", "Deployment", "apps.v1.Deployment", "scale")
    result = updated(tree, with_spec(tree, replicas=3), "hpa", scale)
    assert result["metadata"]["managedFields"] == [
        {
            "manager": "hpa",
            "operation": "Update",
            "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
            "subresource": "scale",
        }
    ]


ENTRY = {
    "manager": "restored",
    "operation": "Update",
    "apiVersion": THING,
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:text": {}}},
}


def with_entries(tree: JsonObject, entries: Any) -> JsonObject:
    return {**tree, "metadata": {**tree["metadata"], "managedFields": entries}}


@pytest.mark.parametrize("entries", [[], [{}]])
def test_clients_may_drop_managed_fields(entries: Any) -> None:
    tree = applied(None, thing(text="1"))
    assert updated(tree, with_entries(tree, entries)) == bare(tree)


def test_clients_may_set_managed_fields() -> None:
    tree = applied(None, thing(text="1"))
    assert list(owners(updated(tree, with_entries(tree, [ENTRY])))) == ["Update restored"]
    assert list(owners(updated(None, with_entries(thing(text="1"), [ENTRY])))) == ["Update u"]


@pytest.mark.parametrize(
    "entries",
    [
        None,
        "x",
        ["x"],
        [{"manager": "m"}],
        [{**ENTRY, "operation": "Delete"}],
        [{**ENTRY, "apiVersion": ""}],
        [{**ENTRY, "fieldsType": ""}],
        [{**ENTRY, "fieldsType": "FieldsV2"}],
        [{**ENTRY, "fieldsV1": {"spec": {}}}],
        [{**ENTRY, "fieldsV1": {"f:a": 1}}],
    ],
)
def test_entries_that_cannot_be_read_do_not_count(entries: Any) -> None:
    tree = applied(None, thing(text="1"))
    assert updated(tree, with_entries(tree, entries)) == tree


def test_through_a_subresource_managed_fields_cannot_be_set() -> None:
    tree = applied(None, thing(text="1"))
    assert updated(tree, with_entries(tree, []), endpoint=thing_endpoint("status")) == tree


def test_an_object_that_does_not_fit_its_schema_loses_them() -> None:
    tree = applied(None, thing(text="1"))
    assert updated(tree, with_spec(tree, nope=1)) == bare(with_spec(tree, nope=1))


def test_the_oldest_of_too_many_updates_are_put_together() -> None:
    tree = applied(None, config_map(applied="1"))
    entries = [
        {
            "manager": f"m{index:02}",
            "operation": "Update",
            "apiVersion": "v1",
            "time": f"2020-01-01T00:00:{index:02}Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {f"f:k{index}": {}}},
        }
        for index in range(MAX_UPDATERS + 1)
    ]
    data = {"applied": "1", **{f"k{index}": "1" for index in range(MAX_UPDATERS + 1)}}
    live = with_entries({**tree, "data": data}, [*tree["metadata"]["managedFields"], *entries])
    result = updated(live, {**live, "data": {**data, "new": "1"}})
    found = owners(result)
    assert len(found) == 1 + MAX_UPDATERS
    assert found["Update ancient-changes"] == {"f:data": {"f:k0": {}, "f:k1": {}, "f:k2": {}}}
    assert found["Update u"] == {"f:data": {"f:new": {}}}
    ancient = next(entry for entry in result["metadata"]["managedFields"] if entry["manager"] == "ancient-changes")
    assert ancient["time"] == "2020-01-01T00:00:02Z"


TWO = "example.com/v2"


def two_versions(api_version: str, second: JsonObject) -> Endpoint:
    types = {THING: THING_TYPES, TWO: custom_types(second)}
    return Endpoint(api_version=api_version, kind="Thing", types=types.get)


def apply_in(live: JsonObject | None, api_version: str, manager: str, second: JsonObject, **spec: Any) -> JsonObject:
    body = {**thing(**spec), "apiVersion": api_version}
    return apply_patch(live, body, two_versions(api_version, second), manager=manager, now_text=NOW)


def test_an_applier_has_one_entry_for_all_versions() -> None:
    schema = thing_schema()
    tree = apply_in(None, THING, "a", schema, text="1", number=1)
    tree = apply_in(tree, TWO, "a", schema, text="1")
    assert (tree["apiVersion"], tree["spec"]) == (TWO, {"text": "1"})
    assert [entry["apiVersion"] for entry in tree["metadata"]["managedFields"]] == [TWO]


def test_ownership_is_judged_in_the_version_it_was_written_in() -> None:
    """In the second version the map is an atom: who owns it there conflicts with any change to it."""
    schema = thing_schema(map={"type": "object", "x-kubernetes-map-type": "atomic"})
    tree = apply_in(None, TWO, "a", schema, map={"a": "1"})
    assert owned_spec(tree) == {"f:map": {}}
    with pytest.raises(RefusedError, match=r"1 conflict: conflict with \"a\": \.spec\.map"):
        apply_in(tree, THING, "b", schema, map={"b": "1"})


def test_entries_of_versions_that_are_gone_are_dropped() -> None:
    tree = with_entries(thing(text="1"), [{**ENTRY, "apiVersion": "example.com/v0"}])
    assert list(owners(applied(tree, thing(number=1)))) == ["Apply a"]


@pytest.mark.parametrize(
    ("field", "value", "atomic"),
    [
        ("map", {"a": "1"}, {**SPEC["map"], "x-kubernetes-map-type": "atomic"}),
        ("set", ["x"], {"type": "array", "items": {"type": "string"}}),
        (
            "table",
            [{"k": "r"}],
            {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        ),
    ],
)
def test_when_a_schema_makes_an_atom_its_owner_owns_the_atom(field: str, value: Any, atomic: JsonObject) -> None:
    tree = applied(None, thing(**{field: value}))
    types = custom_types(thing_schema(**{field: atomic}))
    endpoint = thing_endpoint(types=types)
    result = updated(tree, with_spec(tree, text="1"), endpoint=endpoint)
    assert owned_spec(result) == {f"f:{field}": {}}


@pytest.mark.parametrize(
    ("kind", "subresource", "left_alone"),
    [
        ("Pod", "", {"status"}),
        ("Pod", "status", {"spec", "metadata.ownerReferences"}),
        ("Deployment", "status", {"spec", "metadata.labels"}),
        ("CustomResourceDefinition", "status", {"spec", "metadata.labels", "metadata.ownerReferences"}),
        ("CertificateSigningRequest", "", {"spec", "status"}),
        ("Namespace", "finalize", {"status"}),
        ("Pod", "ephemeralcontainers", {"spec.x", "status", "metadata.labels", "metadata.ownerReferences"}),
    ],
)
def test_what_an_endpoint_leaves_alone(kind: str, subresource: str, left_alone: set[str]) -> None:
    names = ["metadata.labels", "metadata.ownerReferences", "spec.ephemeralContainers", "spec.x", "status.x"]
    fields = build_field_set(field_path(*name.split(".")) for name in names)
    left = {show_path(path)[1:] for path in writable_fields(kind, subresource)(fields).paths()}
    gone = {name for name in names if any(name.startswith(prefix) for prefix in left_alone)}
    assert left == set(names) - gone


def test_resizing_writes_resources_only() -> None:
    row: JsonObject = {".": {}, "f:image": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}
    fields = read_field_set({"f:spec": {"f:containers": {'k:{"name":"a"}': row}, "f:nodeName": {}}})
    kept: JsonObject = {".": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}
    expected = {"f:spec": {"f:containers": {'k:{"name":"a"}': kept}}}
    assert write_field_set(writable_fields("Pod", "resize")(fields)) == expected


def test_kinds_without_status_leave_nothing_alone() -> None:
    fields = read_field_set({"f:status": {"f:x": {}}})
    assert writable_fields("ConfigMap", "", has_status=False)(fields) == fields
    assert not writable_fields("Thing", "", is_custom=True)(fields)


def test_config_maps_are_updated_key_by_key() -> None:
    tree = applied(None, config_map(a="1", b="1"))
    result = updated(tree, {**tree, "data": {"a": "1", "b": "2"}}, endpoint=CONFIG_MAP)
    assert owners(result) == {"Apply a": {"f:data": {"f:a": {}}}, "Update u": {"f:data": {"f:b": {}}}}
