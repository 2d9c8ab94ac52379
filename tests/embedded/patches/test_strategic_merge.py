"""Strategic merge patch: merge keys, sets, directives, order, refusals."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.patches.strategic_merge import apply_strategic_merge_patch
from heliostat.kube.jsontree import JsonObject, copy_tree

POD = "core.v1.Pod"
OUT_OF_ORDER = """The order in patch list:
[map[name:a] map[name:b]]
 doesn't match $setElementOrder list:
[map[name:b] map[name:a]]
"""


def pod(**spec: Any) -> JsonObject:
    return {"spec": spec}


def named(*names: str, **more: Any) -> list[JsonObject]:
    return [{"name": name, **more} for name in names]


def patched(live: JsonObject, patch: Any, kind: str = POD) -> JsonObject:
    before = copy_tree([live, patch])
    result = apply_strategic_merge_patch(live, patch, kind)
    assert [live, patch] == before
    return result


@pytest.mark.parametrize(
    ("live", "patch", "result"),
    [
        pytest.param({"a": 1}, None, {"a": 1}, id="null changes nothing"),
        pytest.param(
            pod(containers=[{"name": "a", "image": "1", "args": ["x"]}, {"name": "b"}]),
            pod(containers=[{"name": "a", "image": "2"}]),
            pod(containers=[{"name": "a", "image": "2", "args": ["x"]}, {"name": "b"}]),
            id="items meet by their merge key",
        ),
        pytest.param(
            pod(containers=[{"name": "a", "args": ["x", "y"]}]),
            pod(containers=[{"name": "a", "args": ["z"]}]),
            pod(containers=[{"name": "a", "args": ["z"]}]),
            id="a list without strategy is replaced",
        ),
        pytest.param(
            pod(containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "http"}]}]),
            pod(containers=[{"name": "a", "ports": [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 1}]}]),
            pod(
                containers=[
                    {
                        "name": "a",
                        "ports": [{"containerPort": 80, "name": "http", "protocol": "UDP"}, {"containerPort": 1}],
                    }
                ]
            ),
            id="a merge key may be a number",
        ),
        pytest.param(
            pod(tolerations=[{"key": "a"}]),
            pod(tolerations=[{"key": "b"}]),
            pod(tolerations=[{"key": "b"}]),
            id="atomic",
        ),
        pytest.param(
            pod(nodeSelector={"a": "1", "b": "2"}),
            pod(nodeSelector={"a": None, "c": "3"}),
            pod(nodeSelector={"b": "2", "c": "3"}),
            id="maps merge, null removes",
        ),
        pytest.param(pod(hostname="a"), pod(subdomain=None), pod(hostname="a"), id="null of an absent field"),
        pytest.param(
            {},
            pod(affinity={"x": None, "y": [{"z": None, "w": 1}, None]}),
            pod(affinity={"y": [{"w": 1}, None]}),
            id="new",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"finalizers": ["c", "b", "c"]}},
            {"metadata": {"finalizers": ["c", "a", "b"]}},
            id="scalars merge as a set",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b", "c"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b", "x"]}},
            {"metadata": {"finalizers": ["a", "c"]}},
            id="scalars are taken out of a set",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}},
            {"metadata": {"finalizers": ["c", "b"]}},
            id="taken out after adding",
        ),
        pytest.param(
            {"metadata": {}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
            {"metadata": {}},
            id="nothing to take out of",
        ),
        pytest.param(
            pod(containers=named("a", "b")),
            pod(containers=[{"name": "a", "$patch": "delete"}]),
            pod(containers=named("b")),
            id="an item is deleted",
        ),
        pytest.param(
            pod(containers=named("a", "b")),
            pod(containers=[{"name": "z", "$patch": "delete"}, {"name": "c"}]),
            pod(containers=named("c", "a", "b")),
            id="a deleted item need not be there",
        ),
        pytest.param(
            pod(containers=named("a", "b")),
            pod(containers=[{"name": "c"}, {"$patch": "replace"}]),
            pod(containers=named("c")),
            id="a list is replaced",
        ),
        pytest.param(
            pod(volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}]),
            pod(
                volumes=[
                    {"name": "v", "emptyDir": None, "configMap": {"name": "c"}, "$retainKeys": ["name", "configMap"]}
                ]
            ),
            pod(volumes=[{"name": "v", "configMap": {"name": "c"}}]),
            id="retainKeys drops the other fields",
        ),
        pytest.param(
            pod(securityContext={"runAsUser": 1, "fsGroup": 2}),
            pod(securityContext={"runAsUser": 3, "$patch": "replace"}),
            pod(securityContext={"runAsUser": 3}),
            id="an object is replaced",
        ),
        pytest.param(
            pod(securityContext={"runAsUser": 1}),
            pod(securityContext={"$patch": "delete"}),
            pod(securityContext={}),
            id="del",
        ),
        pytest.param(
            {}, pod(securityContext={"$patch": "replace", "a": 1}), {"spec": {}}, id="directives are no values"
        ),
        pytest.param(
            {},
            pod(containers=[{"name": "a"}, {"name": "b", "$patch": "delete"}]),
            pod(containers=named("a")),
            id="new list",
        ),
        pytest.param(pod(volumes=[{"name": "v"}]), pod(volumes="x"), pod(volumes="x"), id="another type replaces"),
        pytest.param(pod(volumes=[]), pod(volumes=[]), pod(volumes=[]), id="nothing with nothing"),
    ],
)
def test_merge(live: JsonObject, patch: Any, result: JsonObject) -> None:
    assert patched(live, patch) == result


@pytest.mark.parametrize(
    ("live", "patch", "order", "result"),
    [
        ("abc", "c", "", "abc"),
        ("abc", "x", "", "xabc"),
        ("abc", "cx", "", "abcx"),
        ("abc", "ca", "", "bca"),
        ("abc", "xb", "", "xabc"),
        ("abc", "bx", "", "abxc"),
        ("abc", "", "cba", "cba"),
        ("abc", "", "ca", "bca"),
        ("abc", "x", "axb", "axbc"),
        ("abc", "xy", "xaybc", "xaybc"),
        ("abcd", "", "db", "acdb"),
        ("", "ba", "ba", "ba"),
        ("ab", "", "zb", "ab"),
        ("ab", "", "", "ab"),
    ],
)
def test_order_of_items(live: str, patch: str, order: str, result: str) -> None:
    """Each letter is a container; the patch brings some, and may want an order."""
    spec: JsonObject = {"containers": named(*patch)} if patch else {}
    if order:
        spec["$setElementOrder/containers"] = named(*order)
    tree = pod(containers=named(*live)) if live else pod()
    assert "".join(item["name"] for item in patched(tree, pod(**spec))["spec"]["containers"]) == result


@pytest.mark.parametrize(
    ("live", "patch", "order", "result"),
    [("abc", "c", "cab", "cab"), ("abc", "d", "dbca", "dbca"), ("ab", "", "b", "ab"), ("abc", "", "cb", "acb")],
)
def test_order_of_scalars(live: str, patch: str, order: str, result: str) -> None:
    metadata: JsonObject = {"$setElementOrder/finalizers": list(order)} | ({"finalizers": list(patch)} if patch else {})
    tree = {"metadata": {"finalizers": list(live)}}
    assert "".join(patched(tree, {"metadata": metadata})["metadata"]["finalizers"]) == result


def test_an_added_item_takes_the_place_of_a_deleted_one() -> None:
    patch = pod(containers=[{"name": "d"}, {"name": "b", "$patch": "delete"}])
    patch["spec"]["$setElementOrder/containers"] = named("d", "c")
    assert patched(pod(containers=named("a", "b", "c")), patch) == pod(containers=named("a", "d", "c"))


def test_merge_keys_of_other_kinds() -> None:
    live = {"spec": {"ports": [{"port": 80, "targetPort": 1}, {"port": 81}]}}
    patch = {"spec": {"ports": [{"port": 80, "name": "http"}]}}
    expected = {"spec": {"ports": [{"port": 80, "targetPort": 1, "name": "http"}, {"port": 81}]}}
    assert patched(live, patch, "core.v1.Service") == expected


def test_merge_reaches_into_templates() -> None:
    live = {"spec": {"template": pod(containers=[{"name": "a", "env": [{"name": "X", "value": "1"}]}])}}
    patch = {"spec": {"template": pod(containers=[{"name": "a", "env": [{"name": "Y", "value": "2"}]}])}}
    containers = patched(live, patch, "apps.v1.Deployment")["spec"]["template"]["spec"]["containers"]
    assert containers[0]["env"] == [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]


@pytest.mark.parametrize(
    ("live", "patch", "code", "message"),
    [
        ({}, [], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ({}, {"$retainKeys": "x"}, 400, "invalid patch format of retainKeys"),
        ({}, {"$retainKeys": ["a"], "b": 1}, 400, "invalid patch format of retainKeys"),
        ({}, {"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
        ({}, {"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({}, {"$setElementOrder/x": 1}, 500, "expected a []interface {}, but received a int64"),
        ({}, {"$patch": "merge"}, 500, "unknown patch type: merge in map: map[$patch:merge]"),
        ({}, {"$patch": 1}, 500, "unknown patch type: %!s(int64=1) in map: map[$patch:1]"),
        ({}, {"$setElementOrder/x": []}, 500, 'unable to find api field in struct Pod for the json field "x"'),
        (
            pod(containers=named("a")),
            pod(containers=[{"image": "x"}]),
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            pod(containers=named("a")),
            pod(containers=[{"$patch": "delete"}]),
            500,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            pod(containers=named("a")),
            pod(containers=[{"name": "a", "$patch": "merge"}]),
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            pod(containers=named("a")),
            pod(containers=["x"]),
            500,
            "list element types are not identical: [[map[name:a]] [x]]",
        ),
        (
            pod(containers=["y"]),
            pod(containers=["x"]),
            500,
            "expected a map[string]interface {}, but received a string",
        ),
        (
            {"metadata": {"finalizers": [["x"]]}},
            {"metadata": {"finalizers": ["x"]}},
            422,
            "the server rejected our request due to an error in our request",
        ),
        (
            pod(),
            pod(containers=named("a", "b"), **{"$setElementOrder/containers": named("b", "a")}),
            500,
            OUT_OF_ORDER,
        ),
        (
            pod(),
            pod(containers=[], **{"$setElementOrder/containers": named("a")}),
            500,
            "no elements in any of the given slices",
        ),
    ],
)
def test_refusals(live: JsonObject, patch: Any, code: int, message: str) -> None:
    with pytest.raises(RefusedError) as refused:
        patched(live, patch)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_objects_that_the_schema_does_not_know_cannot_be_merged() -> None:
    live: JsonObject = {"metadata": {"labels": {"a": {"b": {}}}}}
    with pytest.raises(RefusedError) as refused:
        patched(live, live)
    assert refused.value.message == "merging an object in json but data type is not struct, instead is: map"


_names = st.sampled_from("abcd")


def _name(item: JsonObject) -> str:
    name: str = item["name"]
    return name


def _objects(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries(required, optional=optional)


_env = st.lists(_objects({"name": _names, "value": st.sampled_from("12")}, {}), max_size=3, unique_by=_name)
_args = st.lists(st.sampled_from("xy"), max_size=2)
_container = _objects({"name": _names}, {"image": st.sampled_from("12"), "args": _args, "env": _env})
_metadata = _objects(
    {},
    {
        "labels": st.dictionaries(_names, st.sampled_from("12"), max_size=3),
        "finalizers": st.lists(_names, max_size=3, unique=True),
    },
)
_spec = _objects({"containers": st.lists(_container, max_size=4, unique_by=_name)}, {})
_pods = _objects({}, {"metadata": _metadata, "spec": _spec})


@given(_pods)
def test_an_object_onto_itself_is_itself(tree: JsonObject) -> None:
    assert patched(tree, copy_tree(tree)) == tree


@given(_pods, _pods)
def test_merging_twice_is_merging_once(live: JsonObject, patch: JsonObject) -> None:
    once = patched(live, patch)
    assert patched(once, patch) == once


@given(_pods, _pods)
def test_no_item_is_lost_and_none_comes_twice(live: JsonObject, patch: JsonObject) -> None:
    def names(tree: JsonObject) -> list[str]:
        return [item["name"] for item in tree.get("spec", {}).get("containers", [])]

    result = names(patched(live, patch))
    assert sorted(result) == sorted({*names(live), *names(patch)})
