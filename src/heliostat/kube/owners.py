"""Owner references: who made an object, and so with whom it goes away.

An object has at most one controller, the owner that manages it. Ownership is by UID: a new object of the same name is
another owner.
"""

from typing import Any

from heliostat.kube.jsontree import JsonObject


def build_controller_reference(owner: JsonObject, *, block_owner_deletion: bool = True) -> JsonObject:
    """The reference that makes ``owner`` (a whole object with a UID) the controller of another object."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": block_owner_deletion,
    }


def owner_references(tree: JsonObject) -> list[JsonObject]:
    """The object's owner references; none when the field is absent, null or not a list of objects."""
    metadata = tree.get("metadata")
    references: Any = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    return (
        [reference for reference in references if isinstance(reference, dict)] if isinstance(references, list) else []
    )


def controller_of(tree: JsonObject) -> JsonObject | None:
    """The reference to the object's controller."""
    return next((reference for reference in owner_references(tree) if reference.get("controller") is True), None)


def is_controlled_by(tree: JsonObject, uid: str) -> bool:
    controller = controller_of(tree)
    return controller is not None and bool(uid) and controller.get("uid") == uid
