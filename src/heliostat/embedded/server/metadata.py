"""What the server itself writes into an object's metadata, and what it keeps from the object before.

Rules: uid, creationTimestamp, generation and deletionTimestamp are the server's alone; a name is the client's or
made from generateName; the spec's change raises the generation. Everything here works on trees that the caller
owns.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.embedded.server.errors import RefusedError, bad_request, conflict
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.records import Record
from heliostat.kube.counts import read_count
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_GENERATED = 58  # of the prefix: 63 less the suffix
_REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject"
    " such requests as early as 1.24; please fix your requests"
)
_SERVERS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


class Authority(Struct, frozen=True):
    """Where time and chance come from; handed in, so that a simulated server is deterministic."""

    now: Callable[[], float]
    new_uid: Callable[[], str]
    random_index: Callable[[int], int]  # below the given number


def own_metadata(tree: JsonObject) -> JsonObject:
    metadata = tree.get("metadata")
    if metadata is None:
        metadata = tree["metadata"] = {}
    if not isinstance(metadata, dict):
        raise bad_request("metadata is not an object")
    return metadata


def check_namespace(tree: JsonObject, resource: Resource, namespace: str) -> None:
    metadata = own_metadata(tree)
    if not resource.is_namespaced:
        metadata.pop("namespace", None)
        return
    given = metadata.get("namespace")
    if given and given != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def read_version(tree: JsonObject) -> int:
    """The version that the client says the object has; 0 when it says none. What is no number is a bare 500."""
    text = own_metadata(tree).get("resourceVersion") or ""
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal()):
        raise RefusedError(500, "", f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax")
    version = read_count(text)
    if version is None:
        raise RefusedError(500, "", f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return version


def prepare_new(tree: JsonObject, authority: Authority, *, tracks_generation: bool, keeps_owners: bool = False) -> None:
    """Metadata of an object that is about to be created; ``keeps_owners``: managedFields are the server's own."""
    metadata = own_metadata(tree)
    dropped = {*_SERVERS, "managedFields", "selfLink", "resourceVersion"}
    if keeps_owners:
        dropped.discard("managedFields")
    if not tracks_generation:
        dropped.discard("generation")  # kube-apiserver keeps what the client says where it does not count itself
    for key in dropped:
        metadata.pop(key, None)
    if not metadata.get("name") and metadata.get("generateName"):
        prefix = str(metadata["generateName"])[:_LONGEST_GENERATED]
        indices = (authority.random_index(len(SUFFIX_ALPHABET)) for _ in range(5))
        metadata["name"] = prefix + "".join(SUFFIX_ALPHABET[index] for index in indices)
    metadata["uid"] = authority.new_uid()
    metadata["creationTimestamp"] = format_timestamp(authority.now())
    if tracks_generation:
        metadata["generation"] = 1


def carry_over(new: JsonObject, old: JsonObject) -> None:
    """What an update leaves out stays; what it may not change and does not leave out is judged later."""
    metadata, before = own_metadata(new), old["metadata"]
    for key in ("creationTimestamp", "generation"):
        if key in before:
            metadata[key] = before[key]
        else:
            metadata.pop(key, None)
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    for key in ("uid", "deletionGracePeriodSeconds"):
        if key in before and not metadata.get(key):
            metadata[key] = before[key]
    metadata.pop("selfLink", None)


def raise_generation(new: JsonObject, old: JsonObject, *, is_custom: bool, is_changed: bool = False) -> None:
    """A changed spec is a new generation; of a custom resource everything but metadata and status is its spec."""
    metadata, before = new["metadata"], old["metadata"]
    if "generation" not in before:
        return
    metadata["generation"] = before["generation"]
    if is_changed or _desired_part(new, is_custom=is_custom) != _desired_part(old, is_custom=is_custom):
        metadata["generation"] = before["generation"] + 1


def _desired_part(tree: JsonObject, *, is_custom: bool) -> Any:
    if is_custom or "spec" not in tree:
        part = {key: value for key, value in tree.items() if key not in ("metadata", "status")}
        is_slice = not is_custom and tree.get("kind") == "EndpointSlice"  # whose labels say whose it is
        return (part, tree["metadata"].get("labels")) if is_slice else part
    if tree.get("kind") == "Deployment":  # whose rollouts are annotated
        return tree["spec"], tree["metadata"].get("annotations")
    return tree["spec"]


def drop_repeated_owners(tree: JsonObject) -> list[str]:
    """Each owner once, in place; gives kube-apiserver's warning when one stood there twice."""
    owners = tree["metadata"].get("ownerReferences")
    if not isinstance(owners, list):
        return []
    unique: list[Any] = []
    repeated: list[str] = []
    known: set[bytes] = set()
    for owner in owners:
        content = msgspec.json.encode(owner, order="sorted")
        if content in known and isinstance(owner, dict):
            repeated.append(str(owner.get("uid", "")))
        else:
            unique.append(owner)
            known.add(content)
    if not repeated:
        return []
    tree["metadata"]["ownerReferences"] = unique
    return [f"{_REPEATED_OWNERS}; duplicate UID(s) observed: {', '.join(dict.fromkeys(repeated))}"]


def check_name_of(tree: JsonObject, name: str) -> None:
    given = own_metadata(tree).get("name")
    if not given:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if given != name:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def is_deleted_now(tree: JsonObject) -> bool:
    """A deletion that was waiting for finalizers or a grace period has nothing left to wait for."""
    metadata = tree["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def check_uid(new: JsonObject, old: JsonObject, record: Record, resource: Resource, *, dry_run: bool) -> None:
    """Who replaces an object and names another incarnation of it is told what the storage found."""
    wanted, found = new["metadata"].get("uid") or "", old["metadata"]["uid"]
    if wanted and wanted != found:
        why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
        raise _storage_conflict(record.key, resource, why, dry_run=dry_run)


def check_absent_uid(new: JsonObject, key: Key, resource: Resource, *, dry_run: bool) -> None:
    """The same for an update that would create what is not there."""
    if wanted := new["metadata"].get("uid"):
        why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: "
        raise _storage_conflict(key, resource, why, dry_run=dry_run)


def _storage_conflict(key: Key, resource: Resource, why: str, *, dry_run: bool) -> RefusedError:
    """What only tries a write looks above the storage, where keys have no prefix yet."""
    place = f"{_KEPT_AT.get(resource.storage_name) or resource.plural}/{key.path}"
    if resource.is_custom:
        place = f"{resource.group}/{resource.plural}/{key.path}"
    prefix = "" if dry_run else "/registry"
    words = f"StorageError: invalid object, Code: 4, Key: {prefix}/{place}, ResourceVersion: 0"
    return conflict(resource.plural, resource.group, key.name, f"{words}, AdditionalErrorMsg: {why}")


# Where kube-apiserver keeps a kind that does not stand under its own name.
_KEPT_AT = {
    "endpoints": "services/endpoints",
    "ingresses.networking.k8s.io": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
