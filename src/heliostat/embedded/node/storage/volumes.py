"""The volumes of a Pod: what has to be on disk, or in memory, for each. Pure.

A volume is a directory of the Pod's (filled with files or not), a directory or file of the host's, or memory. What it
is made from (ConfigMaps, Secrets, tokens, claims) is handed in as far as it exists; what is missing is told in the
kubelet's words, and the Pod waits.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.node.environment import MissingReferenceError, Surroundings, read_field, read_resource
from heliostat.embedded.node.pods import NodePod
from heliostat.kube.quantity import Quantity

_FILE_MODE = 0o644
_TOKEN_SECONDS = 3600


class File(Struct, frozen=True):
    path: str  # within the volume
    content: bytes
    mode: int = _FILE_MODE


class Files(Struct, frozen=True):
    """A directory of the Pod's own with just these files, to be kept in step with what they are made from."""

    files: tuple[File, ...]


class Empty(Struct, frozen=True):
    """A directory of the Pod's own."""


class Memory(Struct, frozen=True):
    size: int = 0  # bytes; 0: as much as there is


class HostPath(Struct, frozen=True):
    path: str
    kind: str = ""  # DirectoryOrCreate, Directory, FileOrCreate, File, Socket, … or not checked
    is_read_only: bool = False
    is_claimed: bool = False  # of a PersistentVolume, which is made for Pods


Volume: TypeAlias = Files | Empty | Memory | HostPath


class TokenWish(Struct, frozen=True):
    """A ServiceAccount token that a volume needs."""

    audience: str = ""
    seconds: int = _TOKEN_SECONDS


class Sources(Struct, frozen=True, kw_only=True):
    """What volumes are made from, as far as it exists; ConfigMaps and Secrets as bytes by key."""

    config_maps: Mapping[str, Mapping[str, bytes]] = {}
    secrets: Mapping[str, Mapping[str, bytes]] = {}
    claims: Mapping[str, str] = {}  # the host's directory, by the name of the claim
    tokens: Mapping[TokenWish, str] = {}


class Wanted(Struct, frozen=True):
    """The names of what a Pod refers to."""

    config_maps: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()
    tokens: frozenset[TokenWish] = frozenset()


def find_wanted(pod: NodePod) -> Wanted:
    names: dict[str, set[str]] = {"configMap": set(), "secret": set(), "claim": set()}
    for kind, name in _references(pod):
        names[kind].add(name)
    tokens: set[TokenWish] = set()
    for volume in pod.spec.volumes:
        for source in (volume.get("projected") or {}).get("sources") or ():
            if "serviceAccountToken" in source:
                tokens.add(_token_wish(source["serviceAccountToken"]))
    maps, secrets, claims = (frozenset(found) for found in names.values())
    return Wanted(maps, secrets, claims, frozenset(tokens))


def _references(pod: NodePod) -> Iterator[tuple[str, str]]:
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        for source in container.env_from:
            yield from _named(source, ("configMapRef", "configMap"), ("secretRef", "secret"))
        for entry in container.env:
            source = entry.get("valueFrom") or {}
            yield from _named(source, ("configMapKeyRef", "configMap"), ("secretKeyRef", "secret"))
    for volume in pod.spec.volumes:
        yield from _named(volume, ("configMap", "configMap"))
        if "secret" in volume:
            yield "secret", volume["secret"]["secretName"]
        if "persistentVolumeClaim" in volume:
            yield "claim", volume["persistentVolumeClaim"]["claimName"]
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _named(source, ("configMap", "configMap"), ("secret", "secret"))


def _named(source: dict[str, Any], *fields: tuple[str, str]) -> Iterator[tuple[str, str]]:
    for field, kind in fields:
        if field in source:
            yield kind, source[field]["name"]


def _token_wish(source: dict[str, Any]) -> TokenWish:
    return TokenWish(source.get("audience") or "", int(source.get("expirationSeconds") or _TOKEN_SECONDS))


def build_volumes(pod: NodePod, sources: Sources, around: Surroundings) -> dict[str, Volume]:
    """By the volumes' names; raises MissingReferenceError for the first that cannot be made."""
    return {volume["name"]: _build(volume, pod, sources, around) for volume in pod.spec.volumes}


def _build(volume: dict[str, Any], pod: NodePod, sources: Sources, around: Surroundings) -> Volume:
    name = volume["name"]
    if "emptyDir" in volume:
        return _empty(volume["emptyDir"] or {}, pod)
    if "hostPath" in volume:
        return HostPath(volume["hostPath"]["path"], volume["hostPath"].get("type") or "")
    if "persistentVolumeClaim" in volume:
        return _claim(volume["persistentVolumeClaim"], sources)
    if "configMap" in volume:
        source = volume["configMap"]
        return Files(tuple(_keyed(source, "configmap", source["name"], sources.config_maps)))
    if "secret" in volume:
        source = volume["secret"]
        return Files(tuple(_keyed(source, "secret", source["secretName"], sources.secrets)))
    if "downwardAPI" in volume:
        return Files(tuple(_downward(volume["downwardAPI"], pod, around)))
    if "projected" in volume:
        return Files(tuple(_projected(volume["projected"], pod, sources, around)))
    if "ephemeral" in volume:
        return Empty()
    kinds = ", ".join(key for key in volume if key != "name")
    raise MissingReferenceError(f"volume {name}: this node cannot provide {kinds}; use emptyDir, hostPath or a claim")


def _empty(source: dict[str, Any], pod: NodePod) -> Volume:
    if source.get("medium") != "Memory":
        return Empty()
    limits = [_memory_limit(pod), _bytes(source.get("sizeLimit"))]
    return Memory(min(filter(None, limits), default=0))


def _memory_limit(pod: NodePod) -> int:
    """Of all containers together: no volume in memory can be larger. 0: some have none."""
    limits = [_bytes(container.resources.limits.get("memory")) for container in pod.spec.containers]
    return sum(limits) if all(limits) else 0


def _bytes(quantity: str | int | None) -> int:
    return Quantity.parse(quantity).ceil() if quantity is not None else 0


def _claim(source: dict[str, Any], sources: Sources) -> Volume:
    name = source["claimName"]
    if name not in sources.claims:
        raise MissingReferenceError(f'persistentvolumeclaim "{name}" is not bound to a directory of this machine')
    return HostPath(sources.claims[name], "DirectoryOrCreate", bool(source.get("readOnly")), is_claimed=True)


def _keyed(source: dict[str, Any], kind: str, name: str, objects: Mapping[str, Mapping[str, bytes]]) -> Iterator[File]:
    found = objects.get(name)
    if found is None:
        if source.get("optional"):
            return
        raise MissingReferenceError(f'{kind} "{name}" not found')
    mode = source.get("defaultMode") or _FILE_MODE
    items = source.get("items")
    if items is None:
        yield from (File(key, content, mode) for key, content in sorted(found.items()))
        return
    for item in items:
        if item["key"] in found:
            yield File(item["path"], found[item["key"]], item.get("mode") or mode)
        elif not source.get("optional"):
            raise MissingReferenceError(f'{kind} "{name}" has no key {item["key"]}')


def _downward(source: dict[str, Any], pod: NodePod, around: Surroundings) -> Iterator[File]:
    mode = source.get("defaultMode") or _FILE_MODE
    for item in source.get("items") or ():
        if "fieldRef" in item:
            text = read_field(item["fieldRef"]["fieldPath"], pod, around)
        else:
            reference = item["resourceFieldRef"]
            text = read_resource(reference, pod, pod.container(reference["containerName"]), around)
        yield File(item["path"], text.encode(), item.get("mode") or mode)


def _projected(source: dict[str, Any], pod: NodePod, sources: Sources, around: Surroundings) -> Iterator[File]:
    mode = source.get("defaultMode") or _FILE_MODE
    for part in source.get("sources") or ():
        if "configMap" in part:
            keyed = {"defaultMode": mode, **part["configMap"]}
            yield from _keyed(keyed, "configmap", keyed["name"], sources.config_maps)
        elif "secret" in part:
            keyed = {"defaultMode": mode, **part["secret"]}
            yield from _keyed(keyed, "secret", keyed["name"], sources.secrets)
        elif "downwardAPI" in part:
            yield from _downward({"defaultMode": mode, **part["downwardAPI"]}, pod, around)
        elif "serviceAccountToken" in part:
            wish = _token_wish(part["serviceAccountToken"])
            if wish not in sources.tokens:
                raise MissingReferenceError(f"no token for ServiceAccount {pod.spec.service_account_name}")
            yield File(part["serviceAccountToken"]["path"], sources.tokens[wish].encode(), mode)


def decode_config_map(tree: dict[str, Any]) -> dict[str, bytes]:
    texts = {key: value.encode() for key, value in (tree.get("data") or {}).items()}
    return texts | {key: base64.b64decode(value) for key, value in (tree.get("binaryData") or {}).items()}


def decode_secret(tree: dict[str, Any]) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (tree.get("data") or {}).items()}
