"""Which children an owner manages: those that name it as their controller and match its selector.

Rules: an orphan that matches is adopted, unless it or the owner is on its way out; a child that no longer matches is
let go, unless the owner is on its way out; a child of another controller is nobody's business here. Owners are known by
UID, never by name.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from heliostat.embedded.controllers.trees import tree_of
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Metadata, Object
from heliostat.kube.plan import Patch, Ref
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.selectors import Selector

T = TypeVar("T", bound=Object)


class Owner(Struct, frozen=True):
    resource: ResourceType
    metadata: Metadata
    selector: Selector

    @property
    def reference(self) -> JsonObject:
        return build_reference(self.resource, self.metadata)


def build_reference(resource: ResourceType, metadata: Metadata) -> JsonObject:
    """What makes this object the controller of another one."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


class Claim(Struct, Generic[T], frozen=True):
    mine: tuple[T, ...]  # controlled and selected, or about to be
    changes: tuple[Patch, ...]  # adoptions and releases


def claim_children(owner: Owner, children: Iterable[T], child_type: ResourceType) -> Claim[T]:
    mine: list[T] = []
    changes: list[Patch] = []
    for child in children:
        controller = child.metadata.controller
        is_selected = owner.selector.matches(child.metadata.labels)
        if controller is None:
            if is_selected and may_adopt(owner.metadata, child.metadata):
                mine.append(child)
                changes.append(_adopt(owner, child, child_type))
        elif controller.uid == owner.metadata.uid:
            if is_selected:
                mine.append(child)
            elif not owner.metadata.is_terminating:
                changes.append(_release(owner, child, child_type))
    return Claim(tuple(mine), tuple(changes))


def may_adopt(owner: Metadata, child: Metadata) -> bool:
    return not owner.is_terminating and not child.is_terminating and owner.namespace == child.namespace


def _adopt(owner: Owner, child: Object, child_type: ResourceType) -> Patch:
    owners = [*_other_owners(owner, child), owner.reference]
    return _set_owners(child, child_type, owners, f"it has no controller and {_name(owner)} selects it")


def _release(owner: Owner, child: Object, child_type: ResourceType) -> Patch:
    owners = _other_owners(owner, child)
    return _set_owners(child, child_type, owners, f"{_name(owner)} does not select it any more")


def _other_owners(owner: Owner, child: Object) -> list[JsonObject]:
    return [tree_of(reference) for reference in child.metadata.owner_references if reference.uid != owner.metadata.uid]


def _set_owners(child: Object, child_type: ResourceType, owners: list[JsonObject], because: str) -> Patch:
    metadata = child.metadata
    ref = Ref(child_type.api_version, child_type.kind, metadata.namespace, metadata.name)
    changes: JsonObject = {"metadata": {"ownerReferences": owners or None}}
    return Patch(ref, metadata.uid, metadata.resource_version, changes, because)


def _name(owner: Owner) -> str:
    return f"{owner.resource.kind} {owner.metadata.name}"
