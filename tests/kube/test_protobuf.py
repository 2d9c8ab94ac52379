"""Bodies that kubectl and typed Go clients really sent, and bodies that nobody should send."""

import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.core_schema import definition, kinds
from heliostat.kube.jsontree import MAX_DEPTH, decode_json, encode_json
from heliostat.kube.protobuf import MOST_FIELDS, ProtobufError, decode_protobuf
from heliostat.kube.protobuf_table import find_message, message_fields, message_names
from heliostat.kube.protobuf_wire import BYTES, FIXED64, VARINT

# kubectl 1.32, as its commands are in the comments; after them client-go 0.34 with its content type set to protobuf
RECORDED: list[tuple[str, dict[str, Any]]] = [
    (  # create configmap a --from-literal=x=y
        "6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a016112001a0022002a0032003800420012060a01781201791a002200",
        {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"x": "y"}},
    ),
    (  # create secret generic s --from-literal=p=q
        "6b3873000a0c0a0276311206536563726574121d0a110a017312001a0022002a0032003800420012060a01701201711a001a002200",
        {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"p": "cQ=="}},
    ),
    (  # create service clusterip svc1 --tcp=80:8080
        (
            "6b3873000a0d0a027631120753657276696365126c0a210a047376633112001a0022002a003200380042005a0b0a0361707012047376"
            "633112430a1b0a0738302d38303830120354435018502207080010903f1a002800120b0a036170701204737663311a002209436c7573"
            "74657249503a00420052005a00600068001a020a001a002200"
        ),
        {
            "kind": "Service",
            "apiVersion": "v1",
            "metadata": {"name": "svc1", "labels": {"app": "svc1"}},
            "spec": {
                "ports": [{"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}],
                "selector": {"app": "svc1"},
                "type": "ClusterIP",
            },
            "status": {"loadBalancer": {}},
        },
    ),
    (  # create quota q1 --hard=cpu=1,memory=1Gi,pods=3
        (
            "6b3873000a130a027631120d5265736f7572636551756f746112420a120a02713112001a0022002a00320038004200122a0a0a0a0363"
            "707512030a01310a0f0a066d656d6f727912050a033147690a0b0a04706f647312030a01331a001a002200"
        ),
        {
            "kind": "ResourceQuota",
            "apiVersion": "v1",
            "metadata": {"name": "q1"},
            "spec": {"hard": {"cpu": "1", "memory": "1Gi", "pods": "3"}},
            "status": {},
        },
    ),
    (  # auth can-i get pods
        (
            "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a65637441636365737352657669"
            "6577123c0a100a0012001a0022002a00320038004200121e0a1c0a0764656661756c7412036765741a0022002a04706f647332003a00"
            "1a08080012001a0020001a002200"
        ),
        {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}},
            "status": {"allowed": False},
        },
    ),
    (  # create cronjob cj1 --image=busybox --schedule='*/5 * * * *' -- date
        (
            "6b3873000a130a0862617463682f7631120743726f6e4a6f6212a7010a130a03636a3112001a0022002a00320038004200128d010a0b"
            "2a2f35202a202a202a202a1a002a7c0a130a03636a3112001a0022002a00320038004200126532630a100a0012001a0022002a003200"
            "38004200124f12280a03636a31120762757379626f781a04646174652a0042006a007200800100880100900100a201001a094f6e4661"
            "696c757265320042004a0052005800600068008201008a01009a0100c201001a001a002200"
        ),
        {
            "kind": "CronJob",
            "apiVersion": "batch/v1",
            "metadata": {"name": "cj1"},
            "spec": {
                "schedule": "*/5 * * * *",
                "jobTemplate": {
                    "metadata": {"name": "cj1"},
                    "spec": {
                        "template": {
                            "metadata": {},
                            "spec": {
                                "containers": [
                                    {"name": "cj1", "image": "busybox", "command": ["date"], "resources": {}}
                                ],
                                "restartPolicy": "OnFailure",
                            },
                        }
                    },
                },
            },
            "status": {},
        },
    ),
    (  # Deployments("default").Delete with PropagationPolicy
        "6b3873000a180a07617070732f7631120d44656c6574654f7074696f6e73120c220a4261636b67726f756e641a002200",
        {"kind": "DeleteOptions", "apiVersion": "apps/v1", "propagationPolicy": "Background"},
    ),
    (  # Services("default").Create without a target port
        (
            "6b3873000a0d0a027631120753657276696365123f0a150a05747970656412001a0022002a0032003800420012220a100a0012001850"
            "2206080010001a0028001a0022003a00420052005a00600068001a020a001a002200"
        ),
        {
            "kind": "Service",
            "apiVersion": "v1",
            "metadata": {"name": "typed"},
            "spec": {"ports": [{"port": 80, "targetPort": 0}]},
            "status": {"loadBalancer": {}},
        },
    ),
    (  # ConfigMaps("default").Create with binary data, one of it empty
        (
            "6b3873000a0f0a0276311209436f6e6669674d6170122b0a190a017812001a0022002a003200380042005a060a01741201741a070a01"
            "62120200ff1a050a016512001a002200"
        ),
        {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": "x", "labels": {"t": "t"}},
            "binaryData": {"b": "AP8=", "e": ""},
        },
    ),
    (  # CustomResourceDefinitions().Create
        (
            "6b3873000a330a17617069657874656e73696f6e732e6b38732e696f2f76311218437573746f6d5265736f75726365446566696e6974"
            "696f6e12b3030a220a127468696e67732e6578616d706c652e6f726712001a0022002a003200380042001280030a0b6578616d706c65"
            "2e6f72671a130a067468696e6773120022055468696e672a00220a4e616d657370616365643acd020a0276311001180122c0020abd02"
            "0a00120022002a066f626a65637432003a00500060007a00900100ea0195020a0473706563128c020a00120022002a066f626a656374"
            "32003a00500060007a00900100ea01510a016c124c0a00120022002a05617272617932003a00500060007a00900100c201260a240a00"
            "120022002a06737472696e6732003a00500060007a00900100a80200b80200c00200a80200b80200c00200ea01540a016d124f0a0012"
            "0022002a066f626a65637432003a00500060007a00900100f20128080112240a00120022002a06737472696e6732003a00500060007a"
            "00900100a80200b80200c00200a80200b80200c00200ea01370a016e12320a00120022002a066e756d62657232003a0042030a013150"
            "0059000000000000000060007a00900100a80200b80200c00200a80200b00201b80200c00200a80200b80200c00200380050001a0a12"
            "080a00120022002a001a002200"
        ),
        {
            "kind": "CustomResourceDefinition",
            "apiVersion": "apiextensions.k8s.io/v1",
            "metadata": {"name": "things.example.org"},
            "spec": {
                "group": "example.org",
                "names": {"plural": "things", "kind": "Thing"},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {
                                    "spec": {
                                        "type": "object",
                                        "properties": {
                                            "l": {"type": "array", "items": {"type": "string"}},
                                            "m": {"type": "object", "additionalProperties": {"type": "string"}},
                                            "n": {"type": "number", "default": 1, "minimum": 0},
                                        },
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    }
                                },
                            }
                        },
                    }
                ],
            },
            "status": {"acceptedNames": {"plural": "", "kind": ""}},
        },
    ),
]


@pytest.mark.parametrize(("body", "tree"), RECORDED, ids=[tree["kind"] for _, tree in RECORDED])
def test_a_recorded_body_is_what_the_client_would_have_sent_as_json(body: str, tree: dict[str, Any]) -> None:
    assert decode_protobuf(bytes.fromhex(body)) == tree


def number(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(index: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return number(index << 3 | VARINT) + number(value)
    content = value.encode() if isinstance(value, str) else value
    return number(index << 3 | BYTES) + number(len(content)) + content


def envelope(api_version: str, kind: str, raw: bytes, rest: bytes = b"") -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + rest


def decode(api_version: str, kind: str, raw: bytes) -> dict[str, Any]:
    tree = decode_protobuf(envelope(api_version, kind, raw))
    assert (tree.pop("apiVersion"), tree.pop("kind")) == (api_version, kind)
    return tree


def test_a_zero_stays_only_where_it_says_something() -> None:
    replicas, ready_seconds, paused = field(1, 0), field(5, 0), field(7, 0)  # a pointer, then two that Go always writes
    assert decode("apps/v1", "Deployment", field(2, replicas + ready_seconds + paused)) == {"spec": {"replicas": 0}}
    assert decode("v1", "Pod", field(2, field(2, field(1, "") + field(2, "")))) == {
        "spec": {"containers": [{"name": ""}]}
    }


def test_a_later_zero_takes_an_earlier_value_back() -> None:
    assert decode("v1", "Pod", field(2, field(3, "Never") + field(3, ""))) == {"spec": {}}


def test_a_message_in_two_parts_is_one() -> None:
    raw = field(1, field(1, "a")) + field(1, field(3, "b"))
    assert decode("v1", "Pod", raw) == {"metadata": {"name": "a", "namespace": "b"}}


def test_times_are_text_and_the_zero_time_is_absent() -> None:
    metadata = field(8, field(1, 1_700_000_000) + field(2, 999)) + field(9, b"")
    assert decode("v1", "Pod", field(1, metadata)) == {"metadata": {"creationTimestamp": "2023-11-14T22:13:20Z"}}
    renewed = field(2, field(4, field(1, 1_700_000_000) + field(2, 123_456_789)))
    assert decode("coordination.k8s.io/v1", "Lease", renewed) == {"spec": {"renewTime": "2023-11-14T22:13:20.123456Z"}}


@pytest.mark.parametrize(
    ("port", "shown"),
    [
        (field(1, 0) + field(2, 8080) + field(3, ""), 8080),
        (field(1, 1) + field(2, 0) + field(3, "http"), "http"),
        (field(2, -1), -1),
        (b"", 0),
    ],
)
def test_a_port_is_a_number_or_a_name(port: bytes, shown: int | str) -> None:
    policy = field(2, field(2, field(1, field(2, port))))
    spec = {"ingress": [{"ports": [{"port": shown}]}]}
    assert decode("networking.k8s.io/v1", "NetworkPolicy", policy) == {"spec": spec}


def test_fields_of_an_inlined_message_belong_to_the_object_around_it() -> None:
    volume = field(1, "v") + field(2, field(2, b""))
    assert decode("v1", "Pod", field(2, field(1, volume))) == {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}


def test_maps_of_lists_and_lists_of_numbers_in_both_forms() -> None:
    extra = field(5, field(1, "scopes") + field(2, field(1, "a") + field(1, "b")))
    review = decode("authorization.k8s.io/v1", "SubjectAccessReview", field(2, extra + field(5, field(1, "none"))))
    assert review == {"spec": {"extra": {"scopes": ["a", "b"], "none": []}}}
    groups = field(4, 1) + field(4, number(2) + number(-1))
    spec = {"securityContext": {"supplementalGroups": [1, 2, -1]}}
    assert decode("v1", "Pod", field(2, field(14, groups))) == {"spec": spec}


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b'{"a":[1,"b"]}', {"a": [1, "b"]}),
        (envelope("v1", "Namespace", field(1, b"")), {"kind": "Namespace", "apiVersion": "v1", "metadata": {}}),
    ],
    ids=["JSON", "protobuf"],
)
def test_an_object_inside_an_object(raw: bytes, data: dict[str, Any]) -> None:
    assert decode("apps/v1", "ControllerRevision", field(2, field(1, raw)) + field(3, 2)) == {
        "data": data,
        "revision": 2,
    }


def schema_of(tree: dict[str, Any]) -> Any:
    return tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (field(24, field(1, field(5, "string"))), {"items": {"type": "string"}}),
        (field(24, field(2, field(5, "string")) + field(2, b"")), {"items": [{"type": "string"}, {}]}),
        (field(30, field(1, 0)), {"additionalProperties": False}),
        (field(30, field(1, 1)), {"additionalProperties": True}),
        (field(30, field(1, 1) + field(2, b"")), {"additionalProperties": {}}),
        (field(32, field(1, "a") + field(2, field(2, "b"))), {"dependencies": {"a": ["b"]}}),
        (field(32, field(1, "a") + field(2, field(1, field(5, "x")))), {"dependencies": {"a": {"type": "x"}}}),
        (field(20, field(1, "null")) + field(20, field(1, '"x"')), {"enum": [None, "x"]}),
        (number(9 << 3 | FIXED64) + bytes.fromhex("000000000000f83f"), {"maximum": 1.5}),
        (field(38, 0), {"x-kubernetes-preserve-unknown-fields": False}),
    ],
)
def test_schemas_of_custom_resources(part: bytes, shown: dict[str, Any]) -> None:
    body = field(2, field(7, field(4, field(1, part))))
    assert schema_of(decode("apiextensions.k8s.io/v1", "CustomResourceDefinition", body)) == shown


def test_fields_that_nobody_knows_are_skipped() -> None:
    unknown = field(900, 1) + field(901, "x") + number(902 << 3 | FIXED64) + bytes(8) + number(903 << 3 | 5) + bytes(4)
    assert decode("v1", "Pod", unknown + field(1, unknown + field(1, "a"))) == {"metadata": {"name": "a"}}


POD = ("v1", "Pod")
NAME = field(1, field(1, "a"))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "begins with the bytes 6b 38 73 00"),
        (b'{"kind":"Pod"}', "begins with the bytes 6b 38 73 00"),
        (b"k8s\x00rubbish", "field 14 ends after 5 of its 117 bytes"),
        (b"k8s\x00", "the envelope names no apiVersion and kind"),
        (envelope("v1", "", b""), "the envelope names no apiVersion and kind"),
        (envelope("v2", "Pod", b""), 'no kind "Pod" is known for version "v2"'),
        (envelope("ray.io/v1", "RayCluster", b""), "send it as JSON"),
        (envelope(*POD, b"", field(3, "gzip")), "the content encoding 'gzip' is not supported"),
        (envelope(*POD, NAME[:-1]), "field 1 ends after 2 of its 3 bytes"),
        (envelope(*POD, field(1, b"\xff" * 10)), "metadata: a number is longer than 10 bytes"),
        (envelope(*POD, field(1, b"\x80")), "metadata: the message is cut short within a number"),
        (envelope(*POD, b"\x00"), "0 is no field number"),
        (envelope(*POD, b"\x0b"), "field 1 has the wire type 3"),
        (envelope(*POD, field(1, 7)), "metadata: the field is a varint, but its type is bytes with a length"),
        (envelope(*POD, field(1, field(7, "x"))), "metadata.generation: the field is bytes with a length, but"),
        (envelope(*POD, field(1, field(1, b"\xff"))), "metadata.name: the byte 0xff at 0 is not valid UTF-8"),
        (envelope(*POD, field(1, field(8, field(1, 1 << 60)))), "metadata.creationTimestamp: "),
        (envelope("apps/v1", "ControllerRevision", field(2, field(1, "{"))), "data: the JSON inside is invalid"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(body: bytes, problem: str) -> None:
    with pytest.raises(ProtobufError) as caught:
        decode_protobuf(body)
    assert problem in str(caught.value)


def nested_schemas(depth: int) -> bytes:
    schema = b""
    for _ in range(depth):
        schema = field(28, schema)
    return envelope(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, field(4, field(1, schema))))
    )


def test_depth_is_bounded_well_before_the_stack_is() -> None:
    assert "not" in schema_of(decode_protobuf(nested_schemas(MAX_DEPTH - 10)))
    for depth in (MAX_DEPTH, 5000):
        with pytest.raises(ProtobufError, match="nested deeper than 100 levels"):
            decode_protobuf(nested_schemas(depth))


def test_objects_within_objects_are_bounded_too() -> None:
    body = b"{}"
    for _ in range(MAX_DEPTH + 1):
        body = envelope("apps/v1", "ControllerRevision", field(2, field(1, body)))
    with pytest.raises(ProtobufError, match="nested deeper than 100 levels"):
        decode_protobuf(body)


def test_a_body_of_too_many_fields_is_refused() -> None:
    with pytest.raises(ProtobufError, match=f"more than {MOST_FIELDS} fields"):
        decode_protobuf(envelope("v1", "ConfigMap", field(2, b"") * (MOST_FIELDS + 1)))


INLINED = frozenset(
    """
    admissionregistration.v1.Rule core.v1.EphemeralContainerCommon core.v1.PersistentVolumeSource core.v1.ProbeHandler
    core.v1.VolumeSource networking.v1.IngressRuleValue resource.v1.DeviceConfiguration
    resource.v1beta1.DeviceConfiguration resource.v1beta2.DeviceConfiguration
    """.split()  # noqa: SIM905  one word per line reads worse
)


def field_names(message: str) -> set[str]:
    names: set[str] = set()
    for row in message_fields(message).values():
        names |= {row.name} if row.name else field_names(row.type)
    return names


@pytest.mark.parametrize("message", sorted(set(message_names()) - INLINED))
def test_the_table_and_the_schema_have_the_same_fields(message: str) -> None:
    assert field_names(message) == set(definition(message).get("properties", {})) - in_envelope(message)


def in_envelope(message: str) -> set[str]:
    """apiVersion and kind, unless the message has such fields of its own."""
    return {"apiVersion", "kind"} - field_names(message)


def test_every_built_in_kind_has_its_message() -> None:
    found = {(row.api_version, row.kind): find_message(row.api_version, row.kind) for row in kinds()}
    assert found == {(row.api_version, row.kind): row.definition for row in kinds()}


def test_no_table_is_read_before_a_body_comes() -> None:
    ask = "import heliostat.kube.protobuf, heliostat.kube.protobuf_table as t; print(t._read_table.cache_info().misses)"
    told = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert told.stdout == "0\n"


ROOTS = sorted((row.api_version, row.kind) for row in kinds())


def check_bounded(body: bytes) -> None:
    """A tree that JSON can show, or the one error; any other exception fails the test."""
    with suppress(ProtobufError):
        assert decode_json(encode_json(decode_protobuf(body)))["kind"]


@given(st.sampled_from(ROOTS), st.binary(max_size=200))
def test_any_bytes_are_a_tree_or_one_error(kind: tuple[str, str], raw: bytes) -> None:
    check_bounded(envelope(*kind, raw))


@given(st.sampled_from(RECORDED), st.integers(0, 1000), st.binary(max_size=4), st.integers(0, 4))
def test_a_damaged_body_is_a_tree_or_one_error(
    recorded: tuple[str, dict[str, Any]], at: int, put: bytes, taken: int
) -> None:
    body = bytes.fromhex(recorded[0])
    at %= len(body)
    check_bounded(body[:at] + put + body[at + taken :])


MESSAGES = st.recursive(
    st.binary(max_size=6),
    lambda inner: st.lists(st.tuples(st.integers(1, 40), inner | st.integers(-1, 1 << 63)), max_size=6).map(
        lambda parts: b"".join(field(index, value) for index, value in parts)
    ),
    max_leaves=40,
)


@given(st.sampled_from(ROOTS), MESSAGES)
def test_any_fields_are_a_tree_or_one_error(kind: tuple[str, str], raw: bytes) -> None:
    check_bounded(envelope(*kind, raw))
