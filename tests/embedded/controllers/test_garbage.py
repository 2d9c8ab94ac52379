"""Garbage: every row is a small graph, an object in it, and what is to be done about that object."""

from collections.abc import Sequence

import pytest

from heliostat.embedded.controllers.garbage.decision import LOOK_AGAIN_SECONDS, plan_garbage
from heliostat.embedded.controllers.garbage.graph import FOREGROUND, ORPHAN, Graph, Node
from heliostat.kube.objects import Key, Metadata, OwnerReference
from heliostat.kube.plan import Delete, Effect, Patch, Plan
from heliostat.kube.resource_types import ResourceType, ResourceTypes

CONFIG = ResourceType("v1", "ConfigMap", "configmaps")
CLUSTER = ResourceType("v1", "Node", "nodes", is_namespaced=False)
TYPES = ResourceTypes((CONFIG, CLUSTER))


def owned_by(*names: str, block: bool | None = None, kind: str = "ConfigMap") -> tuple[OwnerReference, ...]:
    return tuple(OwnerReference("v1", kind, name, f"uid-{name}", block_owner_deletion=block) for name in names)


def node(
    name: str,
    owners: tuple[OwnerReference, ...] = (),
    *,
    deleted: bool = False,
    finalizers: Sequence[str] = (),
    namespace: str = "ns",
) -> Node:
    return Node(
        CONFIG,
        Metadata(
            name=name,
            namespace=namespace,
            uid=f"uid-{name}",
            resource_version="7",
            deletion_timestamp="2026-01-01T00:00:00Z" if deleted else None,
            owner_references=owners,
            finalizers=tuple(finalizers),
        ),
    )


def plan(subject: Node, *others: Node, absent: Sequence[str] = ()) -> Plan:
    graph = Graph()
    for item in (subject, *others):
        graph.put(item)
    for name in absent:
        graph.note_absent(f"uid-{name}", subject.metadata.namespace)
    return plan_garbage(subject, graph, TYPES)


def only_action(planned: Plan) -> object:
    actions = list(planned.actions())
    assert len(actions) == 1, actions
    return actions[0]


@pytest.mark.parametrize(
    ("subject", "others"),
    [
        pytest.param(node("a"), (), id="no-owner"),
        pytest.param(node("a", owned_by("b")), (node("b"),), id="a-living-owner"),
        pytest.param(
            node("a", owned_by("b")), (node("b", deleted=True, finalizers=["x/y"]),), id="an-owner-that-lingers"
        ),
        pytest.param(node("a", owned_by("b")), (node("b", owned_by("a")),), id="a-circle"),
        pytest.param(node("a", owned_by("a")), (), id="its-own-owner"),
        pytest.param(node("a", owned_by("b"), deleted=True), (), id="on-its-way-out"),
        pytest.param(
            node("a", deleted=True, finalizers=[FOREGROUND]), (node("b", owned_by("a", block=True)),), id="blocked"
        ),
    ],
)
def test_what_stays(subject: Node, others: tuple[Node, ...]) -> None:
    assert list(plan(subject, *others).actions()) == []


def test_an_owner_that_no_watch_has_shown_is_looked_for_before_anything_is_called_garbage() -> None:
    action = only_action(plan(node("a", owned_by("b"))))
    assert isinstance(action, Effect)
    assert action.payload == {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "b", "uid": "uid-b"}


def test_what_has_lost_all_its_owners_is_deleted_as_it_was_seen() -> None:
    action = only_action(plan(node("a", owned_by("b", "c")), absent=["b", "c"]))
    assert isinstance(action, Delete)
    assert (action.uid, action.resource_version, action.propagation) == ("uid-a", "7", "Background")


@pytest.mark.parametrize(("finalizer", "propagation"), [(ORPHAN, "Orphan"), (FOREGROUND, "Foreground")])
def test_a_wish_left_in_the_finalizers_is_honoured(finalizer: str, propagation: str) -> None:
    action = only_action(plan(node("a", owned_by("b"), finalizers=[finalizer]), absent=["b"]))
    assert isinstance(action, Delete)
    assert action.propagation == propagation


def test_one_owner_that_stays_is_enough_and_the_others_are_let_go() -> None:
    waiting = node("w", deleted=True, finalizers=[FOREGROUND])
    action = only_action(plan(node("a", owned_by("b", "gone", "w")), node("b"), waiting, absent=["gone"]))
    assert isinstance(action, Patch)
    references = action.changes["metadata"]["ownerReferences"]
    assert [reference["name"] for reference in references] == ["b"]


def test_a_waiting_owner_takes_what_it_owns_along() -> None:
    waiting = node("w", deleted=True, finalizers=[FOREGROUND])
    leaf = only_action(plan(node("a", owned_by("w", block=True)), waiting))
    assert isinstance(leaf, Delete)
    assert leaf.propagation == "Background"
    branch = only_action(plan(node("a", owned_by("w", block=True)), waiting, node("leaf", owned_by("a"))))
    assert isinstance(branch, Delete)
    assert branch.propagation == "Foreground"


def test_a_waiting_owner_goes_when_nothing_blocks_it() -> None:
    unblocking = node("b", owned_by("w", block=False))
    action = only_action(plan(node("w", deleted=True, finalizers=["x/y", FOREGROUND]), unblocking))
    assert isinstance(action, Patch)
    assert action.changes == {"metadata": {"finalizers": ["x/y"]}}


def test_a_circle_that_is_deleted_in_the_foreground_is_opened() -> None:
    """A waits for B, and B would wait for A."""
    waiting = node("w", owned_by("a", block=True), deleted=True, finalizers=[FOREGROUND])
    action = only_action(plan(node("a", owned_by("w", block=True)), waiting))
    assert isinstance(action, Patch)
    assert action.changes["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] is False
    after = only_action(plan(node("a", owned_by("w", block=False)), waiting))
    assert isinstance(after, Delete)


def test_an_orphaning_owner_takes_its_name_out_of_what_it_owns_and_goes() -> None:
    owner = node("o", deleted=True, finalizers=[ORPHAN])
    action = only_action(plan(owner, node("a", owned_by("o", "other"))))
    assert isinstance(action, Patch)
    assert action.ref.name == "a"
    assert [reference["name"] for reference in action.changes["metadata"]["ownerReferences"]] == ["other"]
    alone = only_action(plan(owner))
    assert isinstance(alone, Patch)
    assert alone.changes == {"metadata": {"finalizers": None}}


def test_an_owner_of_a_kind_that_is_not_served_is_waited_for() -> None:
    subject = node("a", (OwnerReference("x.io/v1", "Thing", "t", "uid-t"),))
    planned = plan(subject)
    assert planned.is_empty
    assert planned.wake_after == LOOK_AGAIN_SECONDS
    assert planned.waits[0].message == "its owner's kind is not served: Thing of x.io/v1"


def test_an_owner_in_another_namespace_owns_nothing_here_and_that_is_told() -> None:
    planned = plan(node("a", owned_by("b")), node("b", namespace="elsewhere"), absent=["b"])
    assert isinstance(only_action(planned), Delete)
    assert planned.events[0].reason == "OwnerRefInvalidNamespace"
    assert planned.events[0].note == (
        'ownerRef [v1/ConfigMap, namespace: ns, name: b, uid: uid-b] does not exist in namespace "ns"'
    )


def test_a_change_concerns_the_object_its_owners_and_what_it_owns() -> None:
    graph = Graph()
    graph.put(node("owner"))
    graph.put(node("child", owned_by("middle")))
    told = graph.put(node("middle", owned_by("owner")))
    assert {key.name for key in told} == {"owner", "middle", "child"}
    assert {key.name for key in graph.remove(Key("ns", "middle", "configmaps"))} == {"owner", "middle", "child"}
    assert graph.is_known_absent(owned_by("middle")[0], "ns")


def test_what_a_server_that_went_back_does_not_have_is_not_called_gone() -> None:
    graph = Graph()
    graph.put(node("owner"))
    child = node("child", owned_by("owner"))
    graph.put(child)
    graph.remove(Key("ns", "owner", "configmaps"), is_certain=False)
    assert isinstance(only_action(plan_garbage(child, graph, TYPES)), Effect)


def test_notes_about_absent_owners_go_when_nobody_names_them() -> None:
    graph = Graph()
    graph.put(node("child", owned_by("gone")))
    graph.note_absent("uid-gone", "ns")
    graph.note_absent("uid-other", "ns")
    graph.forget_absent()
    assert graph.is_known_absent(owned_by("gone")[0], "ns")
    assert not graph.is_known_absent(owned_by("other")[0], "ns")
