"""What many objects have in common is kept once, and nobody can tell by looking at them."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.objects import Object
from heliostat.runtime import sharing
from heliostat.runtime.sharing import Sharing
from heliostat.runtime.watch_lines import LineDecoder, ObjectLine

LABELS = {"app": "ray", "ray.io/worker-group-with-a-long-name": "workers"}


class Point(Struct, frozen=True):
    name: str = ""
    place: str | None = None
    size: int | str = 0
    is_there: bool = False


class Shape(Object, frozen=True):
    """A field of every type that sharing tells apart."""

    text: str = ""
    perhaps: str | None = None
    point: Point = Point()
    other: Point | None = None
    points: tuple[Point, ...] = ()
    words: tuple[str, ...] = ()
    texts: dict[str, str] = msgspec.field(default_factory=dict)
    tree: dict[str, Any] | None = None
    either: str | int = 0


def build_pod(name: str, labels: dict[str, str], time: str = "t") -> bytes:
    return msgspec.json.encode(
        {
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [{"name": "ray", "image": "rayproject/ray"}], "nodeName": "node-1"},
            "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}]},
        }
    )


def decode_shared(bodies: list[bytes]) -> list[Pod]:
    pods = [msgspec.json.decode(body, type=Pod) for body in bodies]
    shares = Sharing(Pod)
    for pod in pods:
        shares.share(pod)
    return pods


def test_equal_parts_of_two_objects_are_one() -> None:
    one, other = decode_shared([build_pod("one", LABELS), build_pod("other", LABELS)])
    assert one.metadata.labels is other.metadata.labels
    assert one.spec.containers is other.spec.containers
    assert one.spec.node_name is other.spec.node_name


def test_parts_that_differ_share_the_texts_inside() -> None:
    one, other = decode_shared(
        [build_pod("one", {**LABELS, "n": "1"}, "1"), build_pod("other", {**LABELS, "n": "2"}, "2")]
    )
    assert one.metadata.labels is not other.metadata.labels
    assert [id(key) for key in one.metadata.labels] == [id(key) for key in other.metadata.labels]
    assert one.status.conditions[0].type is other.status.conditions[0].type


def test_empty_dicts_take_no_memory_of_their_own() -> None:
    one, other = decode_shared([build_pod("one", {}), build_pod("other", {})])
    assert one.metadata.labels is other.metadata.labels is one.spec.node_selector


def test_full_pools_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MOST_TEXTS", 8)
    monkeypatch.setattr(sharing, "MOST_WHOLES", 2)
    bodies = [build_pod(f"pod-{index}", {"index": str(index)}) for index in range(50)]
    pods = decode_shared(bodies)
    assert pods == [msgspec.json.decode(body, type=Pod) for body in bodies]
    assert pods[-1].spec.containers is pods[-2].spec.containers


def test_a_pool_that_rests_still_shares_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MOST_WHOLES", 2)
    pods = decode_shared([build_pod(f"pod-{index}", {"index": str(index), "app": "ray"}) for index in range(10)])
    assert pods[-1].metadata.labels["app"] is pods[-2].metadata.labels["app"]


def test_what_a_watch_brings_is_shared() -> None:
    decoder = LineDecoder(Pod)
    lines = [decoder.line(b'{"type":"ADDED","object":%s}' % build_pod(name, LABELS)) for name in ("one", "other")]
    one, other = (line.object for line in lines if isinstance(line, ObjectLine))
    assert one.metadata.labels is other.metadata.labels


def test_what_a_list_brings_is_shared() -> None:
    items = b",".join(build_pod(name, LABELS) for name in ("one", "other"))
    one, other = LineDecoder(Pod).page(b'{"metadata":{"resourceVersion":"7"},"items":[%s]}' % items).items
    assert one.metadata.labels is other.metadata.labels


few = st.sampled_from(["", "a", "b", "c"])
points = st.builds(Point, name=few, place=st.none() | few, size=few | st.integers(0, 2), is_there=st.booleans())
shapes = st.builds(
    Shape,
    metadata=st.just(msgspec.convert({"name": "a"}, type=Object.__annotations__["metadata"])),
    text=few,
    perhaps=st.none() | few,
    point=points,
    other=st.none() | points,
    points=st.lists(points, max_size=3).map(tuple),
    words=st.lists(few, max_size=3).map(tuple),
    texts=st.dictionaries(few, few, max_size=3),
    tree=st.none() | st.dictionaries(few, few | st.integers(0, 2) | st.booleans(), max_size=3),
    either=few | st.integers(0, 2),
)


@given(st.lists(shapes, max_size=20))
def test_objects_stay_what_they_were(items: list[Shape]) -> None:
    """To the byte: a number must not become a truth value that equals it."""
    before = [msgspec.json.encode(item) for item in items]
    copies = [msgspec.json.decode(body, type=Shape) for body in before]
    shares = Sharing(Shape)
    for copy in copies:
        shares.share(copy)
    assert [msgspec.json.encode(copy) for copy in copies] == before
