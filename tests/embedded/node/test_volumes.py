"""What volumes hold and how containers mount them, and what is told when something is missing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.node.pod_shapes import build_pod, container
from heliostat.embedded.node.environment import MissingReferenceError, Surroundings
from heliostat.embedded.node.shim.protocol import Mount
from heliostat.embedded.node.storage.volume_mounts import build_mounts
from heliostat.embedded.node.storage.volumes import (
    Empty,
    File,
    Files,
    HostPath,
    Memory,
    Sources,
    TokenWish,
    Volume,
    Wanted,
    build_volumes,
    decode_config_map,
    decode_secret,
    find_wanted,
)

AROUND = Surroundings(host_address="10.0.0.1", pod_address="10.244.0.2")
SOURCES = Sources(
    config_maps={"map": {"a": b"1", "b": b"2"}},
    secrets={"secret": {"word": b"sesame"}},
    claims={"claim": "/data/claim"},
    tokens={TokenWish(): "token", TokenWish("vault", 600): "other"},
)


def build(volume: dict[str, Any]) -> Volume:
    pod = build_pod(volumes=[{"name": "v", **volume}], metadata={"labels": {"app": "web"}}, serviceAccountName="robot")
    return build_volumes(pod, SOURCES, AROUND)["v"]


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"emptyDir": {}}, Empty()),
        ({"emptyDir": {"sizeLimit": "1Gi"}}, Empty()),
        ({"emptyDir": {"medium": "Memory"}}, Memory()),
        ({"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}, Memory(1048576)),
        ({"hostPath": {"path": "/x", "type": "Directory"}}, HostPath("/x", "Directory")),
        (
            {"persistentVolumeClaim": {"claimName": "claim"}},
            HostPath("/data/claim", "DirectoryOrCreate", is_claimed=True),
        ),
        (
            {"persistentVolumeClaim": {"claimName": "claim", "readOnly": True}},
            HostPath("/data/claim", "DirectoryOrCreate", is_read_only=True, is_claimed=True),
        ),
        ({"configMap": {"name": "map"}}, Files((File("a", b"1"), File("b", b"2")))),
        (
            {"configMap": {"name": "map", "defaultMode": 0o400, "items": [{"key": "b", "path": "d/x"}]}},
            Files((File("d/x", b"2", 0o400),)),
        ),
        (
            {"secret": {"secretName": "secret", "items": [{"key": "word", "path": "w", "mode": 0o440}]}},
            Files((File("w", b"sesame", 0o440),)),
        ),
        ({"configMap": {"name": "gone", "optional": True}}, Files(())),
        (
            {"configMap": {"name": "map", "optional": True, "items": [{"key": "z", "path": "z"}]}},
            Files(()),
        ),
        (
            {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            Files((File("labels", b'app="web"'),)),
        ),
    ],
)
def test_what_a_volume_is(volume: dict[str, Any], expected: Volume) -> None:
    assert build(volume) == expected


def test_a_projected_volume_joins_its_sources_with_one_mode() -> None:
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"serviceAccountToken": {"path": "vault", "audience": "vault", "expirationSeconds": 600}},
        {"configMap": {"name": "map", "items": [{"key": "a", "path": "a"}]}},
        {"secret": {"name": "secret"}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o600}]}},
    ]
    built = build({"projected": {"defaultMode": 0o640, "sources": sources}})
    assert built == Files(
        (
            File("token", b"token", 0o640),
            File("vault", b"other", 0o640),
            File("a", b"1", 0o640),
            File("word", b"sesame", 0o640),
            File("name", b"p", 0o600),
        )
    )


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "gone"}}, 'configmap "gone" not found'),
        ({"secret": {"secretName": "gone"}}, 'secret "gone" not found'),
        ({"configMap": {"name": "map", "items": [{"key": "z", "path": "z"}]}}, 'configmap "map" has no key z'),
        (
            {"persistentVolumeClaim": {"claimName": "gone"}},
            'persistentvolumeclaim "gone" is not bound to a directory of this machine',
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "nobody"}}]}},
            "no token for ServiceAccount robot",
        ),
        (
            {"nfs": {"server": "x", "path": "/"}},
            "volume v: this node cannot provide nfs; use emptyDir, hostPath or a claim",
        ),
    ],
)
def test_what_is_missing_is_named(volume: dict[str, Any], message: str) -> None:
    with pytest.raises(MissingReferenceError) as raised:
        build(volume)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("limits", "size_limit", "size"),
    [
        ((), None, 0),
        (("1Mi", "2Mi"), None, 3 << 20),
        (("1Mi", None), None, 0),
        (("1Mi", "2Mi"), "2Mi", 2 << 20),
        (("1Mi", "2Mi"), "1Gi", 3 << 20),
    ],
)
def test_memory_is_no_larger_than_what_the_containers_may_use(
    limits: tuple[str | None, ...], size_limit: str | None, size: int
) -> None:
    resources = [{"limits": {"memory": limit}} if limit else {} for limit in limits]
    containers = [container(f"c{number}", resources=each) for number, each in enumerate(resources)]
    source = {"medium": "Memory"} | ({"sizeLimit": size_limit} if size_limit else {})
    pod = build_pod(*containers, volumes=[{"name": "v", "emptyDir": source}])
    assert build_volumes(pod, SOURCES, AROUND) == {"v": Memory(size)}


def mount(volume: Volume, environment: dict[str, str] | None = None, **fields: Any) -> Mount:
    it = build_pod(container(volumeMounts=[{"name": "v", "mountPath": "/m", **fields}])).spec.containers[0]
    return build_mounts(it, {"v": volume}, "/pod/volumes", environment or {})[0]


@pytest.mark.parametrize(
    ("volume", "fields", "expected"),
    [
        (Empty(), {}, Mount("/pod/volumes/v", "/m")),
        (Empty(), {"readOnly": True}, Mount("/pod/volumes/v", "/m", is_read_only=True)),
        (Empty(), {"subPath": "a/b"}, Mount("/pod/volumes/v", "/m", inside="a/b")),
        (Empty(), {"subPathExpr": "$(POD)/x"}, Mount("/pod/volumes/v", "/m", inside="p-0/x")),
        (Files(()), {}, Mount("/pod/volumes/v", "/m", is_read_only=True)),
        (HostPath("/data"), {"subPath": "x"}, Mount("/data", "/m", inside="x")),
        (HostPath("/data", is_read_only=True), {}, Mount("/data", "/m", is_read_only=True)),
        (Memory(5), {}, Mount("/pod/volumes/v", "/m", kind="memory", size=5)),
        (Memory(), {"subPath": "a"}, Mount("/pod/volumes/v", "/m", kind="memory", inside="a")),
    ],
)
def test_how_a_volume_is_mounted(volume: Volume, fields: dict[str, Any], expected: Mount) -> None:
    assert mount(volume, {"POD": "p-0"}, **fields) == expected


def test_a_volume_that_the_pod_does_not_have_is_named() -> None:
    it = build_pod(container(volumeMounts=[{"name": "other", "mountPath": "/m"}])).spec.containers[0]
    with pytest.raises(MissingReferenceError, match='volume "other" not found'):
        build_mounts(it, {}, "/pod/volumes", {})


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/etc", "a/.."])
def test_no_sub_path_leads_out_of_its_volume(path: str) -> None:
    with pytest.raises(MissingReferenceError, match="leads out of volume"):
        mount(Empty(), subPath=path)


@given(st.lists(st.sampled_from(["a", "..", ".", "b c", "", "…"]), max_size=5).map("/".join))
def test_every_mounted_source_lies_in_its_volume(path: str) -> None:
    try:
        source = mount(Empty(), subPath=path).source
    except MissingReferenceError:
        return
    assert source == "/pod/volumes/v" or source.startswith("/pod/volumes/v/")
    assert ".." not in source.split("/")


def test_all_that_a_pod_refers_to_is_found() -> None:
    pod = build_pod(
        container(
            env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m1", "key": "k"}}}],
            envFrom=[{"secretRef": {"name": "s1"}}],
        ),
        initContainers=[container("i", envFrom=[{"configMapRef": {"name": "m2"}}])],
        volumes=[
            {"name": "1", "secret": {"secretName": "s2"}},
            {"name": "2", "persistentVolumeClaim": {"claimName": "c"}},
            {
                "name": "3",
                "projected": {"sources": [{"configMap": {"name": "m3"}}, {"serviceAccountToken": {"path": "t"}}]},
            },
        ],
    )
    assert find_wanted(pod) == Wanted(
        config_maps=frozenset(("m1", "m2", "m3")),
        secrets=frozenset(("s1", "s2")),
        claims=frozenset(("c",)),
        tokens=frozenset((TokenWish(),)),
    )


def test_objects_are_read_as_bytes() -> None:
    assert decode_config_map({"data": {"a": "é"}, "binaryData": {"b": "AP8="}}) == {"a": "é".encode(), "b": b"\x00\xff"}
    assert decode_secret({"data": {"a": "c2VzYW1l"}}) == {"a": b"sesame"}
    assert decode_config_map({}) == decode_secret({}) == {}
