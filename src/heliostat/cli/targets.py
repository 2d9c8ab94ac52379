"""Objects as people name them: ``KIND/NAME …``, ``KIND NAME …`` or a bare ``NAME``."""

import asyncio

import msgspec
from msgspec import Struct

from heliostat.api.kinds import GROUP, KINDS
from heliostat.cli.cluster_access import Cluster
from heliostat.cli.errors import CommandError, MissingObjectError
from heliostat.cli.identity import check_identity
from heliostat.cli.served_kinds import ServedKinds
from heliostat.kube.documents import Document
from heliostat.kube.nearest import find_likely
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.titles import name_in, text_in_metadata
from heliostat.operator.kinds import POD
from heliostat.runtime.errors import ApiError, NotFoundError

ANY = ""  # the kind of a bare name


class Target(Struct, frozen=True):
    """One object; a namespace that is not named is the cluster's."""

    resource: ResourceType
    name: str
    namespace: str = ""


def parse_targets(words: list[str]) -> list[tuple[str, str]]:
    """Pairs of a kind's word, or ``ANY``, and a name."""
    if all("/" in word for word in words):
        return [_split(word) for word in words]
    if "/" in "".join(words):
        raise CommandError(f"{' '.join(words)!r} mixes KIND/NAME and KIND NAME; use one of them")
    kind, *names = words
    return [(kind, name) for name in names] if names else [(ANY, kind)]


def _split(word: str) -> tuple[str, str]:
    kind, _slash, name = word.partition("/")
    if not kind or not name or "/" in name:
        raise CommandError(f"{word!r} is not KIND/NAME, such as raycluster/demo")
    return kind, name


async def find_target(cluster: Cluster, kinds: ServedKinds, word: str, name: str) -> Target:
    """What is meant by a pair. Raises CommandError, for a bare name that nothing or more than one thing has."""
    if word != ANY:
        return Target(kinds.meant_by(word), name)
    possible = [resource for kind in KINDS for resource in kinds.of_kind(kind, GROUP)]
    found = [each for each in (*possible, POD) if await _is_there(cluster, each, name)]
    if len(found) == 1:
        return Target(found[0], name)
    if found:
        several = " or ".join(f"{each.kind.lower()}/{name}" for each in found)
        raise CommandError(f"{name!r} names more than one object; write {several}", 1)
    if not possible:
        raise CommandError(kinds.tell_unknown("RayCluster"), 1)
    raise await _tell_missing(cluster, kinds, possible, name)


async def _is_there(cluster: Cluster, resource: ResourceType, name: str) -> bool:
    try:
        await cluster.client.get(resource, cluster.namespace, name)
    except NotFoundError:
        return False
    return True


async def _tell_missing(cluster: Cluster, kinds: ServedKinds, possible: list[ResourceType], name: str) -> CommandError:
    if kinds.is_known(name):
        return CommandError(f"{name!r} is a kind and names no object; write {name}/NAME")
    others = ", ".join(f"{resource.kind}" for resource in possible) or "ray.io object"
    missing = f"there is no {others} or Pod {name!r} in namespace {cluster.namespace}"
    listed = await asyncio.gather(*(_list_names(cluster, resource) for resource in (*possible, POD)))
    meant = find_likely(name, [each for names in listed for each in names])
    hint = f"did you mean {meant}?" if meant else "for others write KIND/NAME"
    return MissingObjectError(f"{missing}; {hint}", 1, has_hint=meant is not None)


async def _list_names(cluster: Cluster, resource: ResourceType) -> list[str]:
    try:
        found = await cluster.fetch_list(resource, cluster.namespace, metadata_only=True)
    except (ApiError, msgspec.MsgspecError):
        return []
    return [str(tree["metadata"]["name"]) for tree in found]


def target_of_document(kinds: ServedKinds, document: Document) -> Target:
    """The object that a document is about. Raises CommandError."""
    check_identity(document)
    tree = document.tree
    resource = kinds.of(tree["apiVersion"], tree["kind"])
    if resource is None:
        where = f"{document.source}:{document.line_of()}"
        raise CommandError(f"{where}: {kinds.explain_missing(tree['apiVersion'], tree['kind'])}", 1)
    return Target(resource, name_in(tree), text_in_metadata(tree, "namespace"))
