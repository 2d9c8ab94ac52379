"""Reading an object as a typed server does: types, zeros, canonical texts, unknown fields."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.kinds.typed.typed_form import TypedError, fit_type
from heliostat.kube.jsontree import copy_tree

POD = "core.v1.Pod"


def pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", **(container or {})}], **spec}}


def read(tree: dict[str, Any], definition: str = POD) -> dict[str, Any]:
    assert fit_type(tree, definition) == []
    return tree


def container(**fields: Any) -> dict[str, Any]:
    read_container: dict[str, Any] = read(pod(fields))["spec"]["containers"][0]
    return read_container


class TestZeros:
    def test_plain_ones_go_and_pointers_stay(self) -> None:
        spec = read(pod(hostNetwork=False, hostname="", terminationGracePeriodSeconds=0, enableServiceLinks=False))[
            "spec"
        ]
        assert spec.keys() == {"containers", "terminationGracePeriodSeconds", "enableServiceLinks"}

    def test_empty_lists_and_maps_go_and_empty_objects_stay(self) -> None:
        spec = read(pod(volumes=[], nodeSelector={}, affinity={}, securityContext={}))["spec"]
        assert spec.keys() == {"containers", "affinity", "securityContext"}

    def test_fields_that_are_always_written_come_in(self) -> None:
        assert container() == {"name": "a", "resources": {}}
        event = read({"metadata": {}}, "core.v1.Event")
        assert event["firstTimestamp"] is None
        assert event["source"] == {}
        assert event["reportingComponent"] == ""

    def test_a_required_list_that_is_empty_is_null(self) -> None:
        assert read({"metadata": {}, "rules": []}, "rbac.v1.Role")["rules"] is None

    def test_nulls_go_and_are_zeros_inside_maps_and_lists(self) -> None:
        assert "command" not in container(command=None)
        assert container(command=[None, "b"])["command"] == ["", "b"]
        assert read({"metadata": {}, "data": {"a": None}}, "core.v1.ConfigMap")["data"] == {"a": ""}
        assert read({"metadata": {}, "data": {"a": None}}, "core.v1.Secret")["data"] == {"a": ""}


@pytest.mark.parametrize(
    ("given_", "read_"),
    [
        ("1000m", "1"), ("0.5", "500m"), (0.5, "500m"), (2, "2"), ("1024Ki", "1Mi"), ("0.0001", "1m"),
        ("1.0005", "1001m"), (" 1 ", "1"), (".", "0"), ("1E5", "100e3"), ("16Ei", "9223372036854775807"), ("3n", "1m"),
        ("1000000", "1M"),
    ],
)  # fmt: skip
def test_quantities_get_their_canonical_text(given_: Any, read_: str) -> None:
    assert container(resources={"limits": {"memory": given_}})["resources"]["limits"] == {"memory": read_}


def test_only_resource_lists_are_rounded() -> None:
    volume = {"name": "v", "emptyDir": {"sizeLimit": "1.0005"}}
    assert read(pod(volumes=[volume]))["spec"]["volumes"][0]["emptyDir"]["sizeLimit"] == "1000500u"


@pytest.mark.parametrize(
    ("given_", "read_"),
    [
        ("2020-01-01T00:00:00+02:00", "2019-12-31T22:00:00Z"),
        ("2020-01-01T00:00:00.5Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
    ],
)
def test_times_are_whole_seconds_in_utc(given_: str, read_: str) -> None:
    assert read({"metadata": {}, "lastTimestamp": given_}, "core.v1.Event")["lastTimestamp"] == read_


def test_bytes_are_written_as_their_canonical_base64() -> None:
    assert read({"metadata": {}, "data": {"a": "YW\nJj"}}, "core.v1.Secret")["data"] == {"a": "YWJj"}


def wrong_type(what: str, where: str, wanted: str) -> str:
    return f"json: cannot unmarshal {what} into Go struct field {where} of type {wanted}"


PORT = "ContainerPort.spec.containers.ports.containerPort"
CONFIG_MAP, SECRET, EVENT, LEASE = "core.v1.ConfigMap", "core.v1.Secret", "core.v1.Event", "coordination.v1.Lease"
UNREADABLE: list[tuple[dict[str, Any], str, str]] = [
    (pod({"ports": [{"containerPort": "80"}]}), POD, wrong_type("string", PORT, "int32")),
    (pod({"ports": [{"containerPort": 3_000_000_000}]}), POD, wrong_type("number 3000000000", PORT, "int32")),
    (pod({"name": 5}), POD, wrong_type("number", "Container.spec.containers.name", "string")),
    (
        pod({"imagePullPolicy": 5}),
        POD,
        wrong_type("number", "Container.spec.containers.imagePullPolicy", "v1.PullPolicy"),
    ),
    ({"spec": {"containers": {}}}, POD, wrong_type("object", "PodSpec.spec.containers", "[]v1.Container")),
    ({"spec": "x"}, POD, wrong_type("string", "Pod.spec", "v1.PodSpec")),
    ({"spec": {"containers": ["a"]}}, POD, wrong_type("string", "PodSpec.spec.containers", "v1.Container")),
    (
        pod(terminationGracePeriodSeconds=1.5),
        POD,
        wrong_type("number 1.5", "PodSpec.spec.terminationGracePeriodSeconds", "int64"),
    ),
    ({"data": {"a": 5}}, CONFIG_MAP, wrong_type("number", "ConfigMap.data", "string")),
    ({"metadata": {"labels": []}}, CONFIG_MAP, wrong_type("array", "ObjectMeta.metadata.labels", "map[string]string")),
    (
        pod({"livenessProbe": {"httpGet": {"port": True}}}),
        POD,
        wrong_type("bool", "HTTPGetAction.spec.containers.livenessProbe.httpGet.port", "int32"),
    ),
    (pod(hostNetwork="true"), POD, wrong_type("string", "PodSpec.spec.hostNetwork", "bool")),
    ({"data": {"a": "x y"}}, SECRET, "illegal base64 data at input byte 1"),
    (pod({"resources": {"limits": {"cpu": "1K"}}}), POD, "unable to parse quantity's suffix"),
    (
        pod({"resources": {"limits": {"cpu": "1 Gi"}}}),
        POD,
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    (
        {"metadata": {"creationTimestamp": "abc"}},
        POD,
        'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"',
    ),
    ({"lastTimestamp": "2020-13-01T00:00:00Z"}, EVENT, 'parsing time "2020-13-01T00:00:00Z": month out of range'),
    (
        {"spec": {"renewTime": "2020-01-01T00:00:00Z"}},
        LEASE,
        'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ),
]


@pytest.mark.parametrize(("tree", "definition", "message"), UNREADABLE)
def test_what_cannot_be_read_is_told_in_the_words_of_the_real_server(
    tree: dict[str, Any], definition: str, message: str
) -> None:
    with pytest.raises(TypedError) as refused:
        fit_type(copy_tree(tree), definition)
    assert str(refused.value) == message


def test_unknown_fields_are_taken_out_and_told_in_order() -> None:
    tree = pod({"foo": 1, "env": [{"name": "A", "bar": {}}]}, baz=2) | {"qux": 3}
    assert fit_type(tree, POD) == [
        "spec.containers[0].foo",
        "spec.containers[0].env[0].bar",
        "spec.baz",
        "qux",
    ]
    assert tree["spec"] == {"containers": [{"name": "a", "env": [{"name": "A"}], "resources": {}}]}
    assert "qux" not in tree


def test_a_schema_of_a_definition_may_nest_deeply_but_not_without_end() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(3000):
        schema = {"properties": {"a": schema}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    with pytest.raises(TypedError, match="exceeded max depth"):
        fit_type({"spec": {"versions": [version]}}, "apiextensions.v1.CustomResourceDefinition")


SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "1Gi", "2020-01-01T00:00:00Z"])
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["name", "image", "env", "value", "containers", "resources", "limits", "cpu", "ports"]),
        inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(TREES)
def test_reading_twice_is_reading_once(spec: Any) -> None:
    tree = {"metadata": {"name": "x"}, "spec": spec}
    try:
        fit_type(tree, POD)
    except TypedError:
        return
    once = copy_tree(tree)
    assert fit_type(tree, POD) == []
    assert tree == once
