"""What a Pod gets from its ServiceAccount: the account's name, a token to talk to the server with, pull secrets.

Rules: an account that is not there refuses the Pod, and the one that every namespace gets is waited for a moment: a
file may have a namespace and its first Pod. The token comes as a projected volume in every container that has nothing
mounted at its place, unless the Pod or else the account says no; a mirror of a static Pod gets nothing.
"""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from heliostat.embedded.kinds.pods.pod_validation import MIRROR
from heliostat.embedded.refusals import RefusedError, forbidden
from heliostat.embedded.server.admission.pod_admission import name_for_refusal
from heliostat.embedded.server.metadata import SUFFIX_ALPHABET
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject

ACCOUNTS = "serviceaccounts"
DEFAULT_ACCOUNT = "default"
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105
TOKEN_VOLUME = "kube-api-access"  # noqa: S105
TOKEN_SECONDS = 3607
WAIT_SECONDS = 1.0
ROOT_CERTIFICATE = "kube-root-ca.crt"


async def wait_for_account(pod: JsonObject, store: Store) -> None:
    """Until the namespace's own account is there, or it is not to be expected any more."""
    name, metadata = pod["spec"].get("serviceAccountName") or DEFAULT_ACCOUNT, pod["metadata"]
    if name != DEFAULT_ACCOUNT or MIRROR in (metadata.get("annotations") or {}):
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(WAIT_SECONDS):
            while store.get(Key(ACCOUNTS, metadata["namespace"], name)) is None:
                await store.wait_for(store.revision + 1)


def admit_account(pod: JsonObject, store: Store, random_index: Callable[[int], int]) -> None:
    spec, metadata = pod["spec"], pod["metadata"]
    if MIRROR in (metadata.get("annotations") or {}):
        return
    name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = _find_account(store, metadata["namespace"], name, name_for_refusal(pod))
    if _wants_token(spec, account):
        _mount_token(spec, random_index)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = list(account["imagePullSecrets"])


def _find_account(store: Store, namespace: str, name: str, pod: str) -> JsonObject:
    record = store.get(Key(ACCOUNTS, namespace, name))
    if record is None:
        raise missing_account(namespace, name, pod)
    account: JsonObject = msgspec.json.decode(record.body)
    return account


def missing_account(namespace: str, name: str, pod: str) -> RefusedError:
    why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
    return forbidden("pods", "", pod, why)


def _wants_token(spec: JsonObject, account: JsonObject) -> bool:
    own = spec.get("automountServiceAccountToken")
    return bool(account.get("automountServiceAccountToken", True) if own is None else own)


def _mount_token(spec: JsonObject, random_index: Callable[[int], int]) -> None:
    volumes = spec.get("volumes") or []
    existing = next((volume["name"] for volume in volumes if volume["name"].startswith(f"{TOKEN_VOLUME}-")), "")
    suffix = "".join(SUFFIX_ALPHABET[random_index(len(SUFFIX_ALPHABET))] for _ in range(5))
    name = existing or f"{TOKEN_VOLUME}-{suffix}"
    is_used = False
    for part in ("initContainers", "containers"):
        for container in spec.get(part) or ():
            mounts = container.setdefault("volumeMounts", [])
            if all(mount.get("mountPath") != TOKEN_PATH for mount in mounts):
                mounts.append({"name": name, "readOnly": True, "mountPath": TOKEN_PATH})
                is_used = True
    if is_used and not existing:
        spec["volumes"] = [*volumes, {"name": name, "projected": build_token_source()}]


def build_token_source() -> JsonObject:
    """The token, the certificate of the server, and the namespace: what every client library looks for."""
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": ROOT_CERTIFICATE, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 0o644,
    }
