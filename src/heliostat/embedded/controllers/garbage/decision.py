"""What to do about one object, from the graph.

Rules, in this order: an object that orphans what it owns takes its name out of their references and then goes; one that
waits in the foreground goes when nothing blocks it any more; one with owners stays while one of them is there and not
waiting, and loses the references to those that are gone or waiting; one without any such owner is deleted. An owner is
gone only when the server said so; until then nothing is decided.
"""

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from heliostat.embedded.controllers.garbage.graph import FOREGROUND, ORPHAN, Graph, Node
from heliostat.kube.go_text import go_quote
from heliostat.kube.objects import OwnerReference
from heliostat.kube.plan import Delete, Effect, Event, JsonObject, Patch, Plan, Ref, Stage, Wait
from heliostat.kube.resource_types import ResourceTypes, UnknownKindError

LOOK_FOR_OWNER = "look-for-owner"
LOOK_SOON_SECONDS = 1.0  # for what the server was just asked about
LOOK_AGAIN_SECONDS = 30.0


class Standing(Enum):
    """What an owner reference stands for."""

    SOLID = "solid"  # there, and staying
    WAITING = "waiting"  # being deleted in the foreground: it waits for us
    ABSENT = "absent"  # the server said so
    UNKNOWN = "unknown"  # not in the graph, and nobody has looked
    UNRESOLVABLE = "unresolvable"  # of a kind that is not served


class Owner(Struct, frozen=True):
    reference: OwnerReference
    standing: Standing


def plan_garbage(node: Node, graph: Graph, types: ResourceTypes) -> Plan:
    if node.is_orphaning:
        return _plan_orphaning(node, graph)
    if node.is_waiting and not _blocking(node, graph):
        return _remove_finalizer(node, FOREGROUND, "nothing that it owns is left to wait for")
    if node.metadata.is_terminating and not node.is_waiting:
        return Plan()  # somebody else's finalizer; its dependents go when it is gone
    return _plan_owned(node, graph, types)


def _blocking(node: Node, graph: Graph) -> list[Node]:
    """What a foreground deletion waits for."""
    return [
        dependent
        for dependent in graph.dependents(node.uid)
        if any(owner.uid == node.uid and owner.block_owner_deletion for owner in dependent.metadata.owner_references)
    ]


def _plan_orphaning(node: Node, graph: Graph) -> Plan:
    releases = tuple(
        _keep_owners(dependent, {node.uid}, f"{node} is deleted and leaves it behind")
        for dependent in graph.dependents(node.uid)
    )
    if releases:
        return Plan(stages=(Stage("release", releases),))
    return _remove_finalizer(node, ORPHAN, "nothing names it as its owner any more")


def _plan_owned(node: Node, graph: Graph, types: ResourceTypes) -> Plan:
    owners = [Owner(reference, _standing(reference, node, graph, types)) for reference in _references(node)]
    if not owners:
        return Plan()
    by_standing = {standing: [o.reference for o in owners if o.standing is standing] for standing in Standing}
    if by_standing[Standing.UNKNOWN]:
        return _look_for(node, by_standing[Standing.UNKNOWN])
    if by_standing[Standing.UNRESOLVABLE] and not by_standing[Standing.SOLID]:
        return _wait_for_kind(by_standing[Standing.UNRESOLVABLE])
    gone = [*by_standing[Standing.ABSENT], *by_standing[Standing.WAITING]]
    if by_standing[Standing.SOLID]:
        return _let_go(node, gone) if gone else Plan()
    if node.metadata.is_terminating:
        return Plan()
    if by_standing[Standing.WAITING]:
        return _plan_going_with(node, graph)
    events = _misplaced_events(node, graph, by_standing[Standing.ABSENT])
    return Plan(stages=(Stage("delete", (_deletion(node, "", "none of its owners is left"),)),), events=events)


def _standing(reference: OwnerReference, node: Node, graph: Graph, types: ResourceTypes) -> Standing:
    try:
        kind = types.of(reference.api_version, reference.kind)
    except UnknownKindError:
        kind = None
    if kind is not None and kind.is_namespaced and not node.metadata.namespace:
        return Standing.UNRESOLVABLE  # an object of the whole cluster cannot belong to one of some namespace
    if graph.is_known_absent(reference, node.metadata.namespace):
        return Standing.ABSENT
    owner = graph.node(reference.uid)
    if owner is not None and owner.metadata.namespace in ("", node.metadata.namespace):
        return Standing.WAITING if owner.is_waiting else Standing.SOLID
    return Standing.UNRESOLVABLE if kind is None else Standing.UNKNOWN


def _plan_going_with(node: Node, graph: Graph) -> Plan:
    """Its last owner waits for it to go. What itself owns something goes in the foreground too, except in a circle."""
    dependents = graph.dependents(node.uid)
    in_circle = any(dependent.is_waiting for dependent in dependents)
    if in_circle and any(owner.block_owner_deletion for owner in node.metadata.owner_references):
        return Plan(stages=(Stage("unblock", (_unblock(node),)),))  # the deletion comes with the next look
    because = "its owner is being deleted in the foreground"
    return Plan(stages=(Stage("delete", (_deletion(node, "Foreground" if dependents else "", because),)),))


def _unblock(node: Node) -> Patch:
    references = [_tree(reference, block=False) for reference in node.metadata.owner_references]
    because = "it owns something that waits for it to go: nobody may block the other"
    return _patch(node, {"ownerReferences": references}, because)


def _let_go(node: Node, gone: Sequence[OwnerReference]) -> Plan:
    return Plan(stages=(Stage("let-go", (_keep_owners(node, {o.uid for o in gone}, "some of its owners are gone"),)),))


def _keep_owners(node: Node, without: set[str], because: str) -> Patch:
    kept = [_tree(owner) for owner in node.metadata.owner_references if owner.uid not in without]
    return _patch(node, {"ownerReferences": kept or None}, because)


def _remove_finalizer(node: Node, finalizer: str, because: str) -> Plan:
    kept = [name for name in node.metadata.finalizers if name != finalizer]
    return Plan(stages=(Stage("let-it-go", (_patch(node, {"finalizers": kept or None}, because),)),))


def _deletion(node: Node, propagation: str, because: str) -> Delete:
    if not propagation:
        finalizers = node.metadata.finalizers
        propagation = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
    # The version too: somebody may just have given it an owner that stays.
    version = node.metadata.resource_version
    return Delete(_ref(node), node.uid, because, resource_version=version, propagation=propagation)


def _look_for(node: Node, unknown: Sequence[OwnerReference]) -> Plan:
    """Ask the server before anything is called garbage."""
    effects = tuple(
        Effect(
            LOOK_FOR_OWNER,
            {
                "apiVersion": owner.api_version,
                "kind": owner.kind,
                "namespace": node.metadata.namespace,
                "name": owner.name,
                "uid": owner.uid,
            },
            idempotency_key=f"{owner.uid}/{node.metadata.namespace}",
            because=f"no watch has shown {owner.kind} {owner.name}",
        )
        for owner in unknown
    )
    return Plan(stages=(Stage("look", effects),), wake_after=LOOK_SOON_SECONDS)


def _wait_for_kind(owners: Sequence[OwnerReference]) -> Plan:
    named = ", ".join(f"{owner.kind} of {owner.api_version}" for owner in owners)
    wait = Wait("OwnerKindNotServed", f"its owner's kind is not served: {named}", "the kind is served")
    return Plan(waits=(wait,), wake_after=LOOK_AGAIN_SECONDS)


def _references(node: Node) -> list[OwnerReference]:
    """Each UID once."""
    return list({reference.uid: reference for reference in node.metadata.owner_references}.values())


def _patch(node: Node, metadata: JsonObject, because: str) -> Patch:
    return Patch(_ref(node), node.uid, node.metadata.resource_version, {"metadata": metadata}, because)


def _ref(node: Node) -> Ref:
    return Ref(node.resource.api_version, node.resource.kind, node.metadata.namespace, node.metadata.name)


def _tree(reference: OwnerReference, *, block: bool | None = None) -> JsonObject:
    tree: JsonObject = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "name": reference.name,
        "uid": reference.uid,
    }
    if reference.controller is not None:
        tree["controller"] = reference.controller
    blocks = reference.block_owner_deletion if block is None else block
    if blocks is not None:
        tree["blockOwnerDeletion"] = blocks
    return tree


def _misplaced_events(node: Node, graph: Graph, absent: Sequence[OwnerReference]) -> tuple[Event, ...]:
    """The owner is there, but in another namespace, from where it cannot own anything here."""
    namespace = node.metadata.namespace
    return tuple(
        Event(
            "Warning",
            "OwnerRefInvalidNamespace",
            "Collect",
            f"ownerRef [{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}, "
            f"uid: {owner.uid}] does not exist in namespace {go_quote(namespace)}",
        )
        for owner in absent
        if graph.node(owner.uid) is not None
    )
