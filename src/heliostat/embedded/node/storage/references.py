"""What a Pod refers to, read from the API: ConfigMaps, Secrets, claims with their volumes, ServiceAccount tokens.

What does not exist is left out; who needs it says so. Any other answer is raised, and the Pod waits for a better one.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.storage.volumes import (
    Sources,
    TokenWish,
    Wanted,
    decode_config_map,
    decode_secret,
    find_wanted,
)
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.client import Client
from heliostat.runtime.errors import NotFoundError

CONFIG_MAP = ResourceType("v1", "ConfigMap", "configmaps")
SECRET = ResourceType("v1", "Secret", "secrets")
CLAIM = ResourceType("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
VOLUME = ResourceType("v1", "PersistentVolume", "persistentvolumes", is_namespaced=False)
TOKEN = ResourceType("v1", "ServiceAccount", "serviceaccounts", subresource="token")

T = TypeVar("T")

_RECENT_SECONDS = 5.0


class RecentSources:
    """What was read for one step of a Pod is good for the next, when that comes at once and nothing was missing."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._read: dict[str, tuple[float, Sources]] = {}  # when, by the UID of the Pod

    async def fetch(self, pod: NodePod) -> Sources:
        uid, now = pod.metadata.uid, self._clock()
        self._read = {known: read for known, read in self._read.items() if now - read[0] < _RECENT_SECONDS}
        if uid not in self._read:
            self._read[uid] = (now, await fetch_sources(self._client, pod))
        return self._read[uid][1]

    def forget(self, uid: str) -> None:
        """A step could not be done with them."""
        self._read.pop(uid, None)


async def fetch_token(client: Client, pod: NodePod, wish: TokenWish) -> str:
    """Bound to the Pod: it is worth nothing once the Pod is gone."""
    metadata = pod.metadata
    bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata.name, "uid": metadata.uid}
    spec: dict[str, Any] = {"expirationSeconds": wish.seconds, "boundObjectRef": bound}
    if wish.audience:
        spec["audiences"] = [wish.audience]
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": pod.spec.service_account_name or "default", "namespace": metadata.namespace},
        "spec": spec,
    }
    answer = msgspec.json.decode(await client.create(TOKEN, request))
    token: str = answer["status"]["token"]
    return token


async def fetch_sources(
    client: Client, pod: NodePod, find_token: Callable[[Client, NodePod, TokenWish], Awaitable[str]] = fetch_token
) -> Sources:
    """``find_token`` may know one that still serves."""
    wanted, namespace = find_wanted(pod), pod.metadata.namespace
    return Sources(
        config_maps=await _fetch_all(
            wanted.config_maps, lambda name: _get(client, CONFIG_MAP, namespace, name), decode_config_map
        ),
        secrets=await _fetch_all(wanted.secrets, lambda name: _get(client, SECRET, namespace, name), decode_secret),
        claims=await _fetch_directories(client, namespace, wanted),
        tokens={wish: await find_token(client, pod, wish) for wish in sorted(wanted.tokens, key=str)},
    )


async def _fetch_all(
    names: Iterable[str], get: Callable[[str], Awaitable[dict[str, Any] | None]], decode: Callable[[dict[str, Any]], T]
) -> dict[str, T]:
    found = {name: await get(name) for name in sorted(names)}
    return {name: decode(tree) for name, tree in found.items() if tree is not None}


async def _get(client: Client, resource: ResourceType, namespace: str, name: str) -> dict[str, Any] | None:
    try:
        tree: dict[str, Any] = msgspec.json.decode(await client.get(resource, namespace, name))
    except NotFoundError:
        return None
    return tree


async def _fetch_directories(client: Client, namespace: str, wanted: Wanted) -> Mapping[str, str]:
    """Claims that are bound to a volume which is a directory of this machine."""
    found: dict[str, str] = {}
    for name in sorted(wanted.claims):
        claim = await _get(client, CLAIM, namespace, name)
        volume_name = ((claim or {}).get("spec") or {}).get("volumeName")
        volume = await _get(client, VOLUME, "", volume_name) if volume_name else None
        spec = (volume or {}).get("spec") or {}
        path = (spec.get("hostPath") or spec.get("local") or {}).get("path")
        if path:
            found[name] = path
    return found
