"""Clusters as KubeRay left them: the objects it created are put into the server before our operator ever runs.

Masks of the recording are filled in again: the namespace, the owner's uid, the suffix of multi-host replicas, and in
the status times, names and addresses as they are now. What KubeRay wrote later than it created is done too: finalizers,
the addresses in certificates, the owners of their Secrets. So what our operator then writes is its own wish.
"""

import re
from typing import Any

import msgspec

from conformance.operator.administrator import Administrator
from conformance.operator.foreign_kinds import CERTIFICATE
from conformance.operator.judging import is_in_host_network
from conformance.operator.playing import Tree, clusters_of
from conformance.operator.worlds import World
from conformance.operator.write_log import Write
from golden_cases import GoldenCase
from heliostat.kube.lookups import SERVICE
from heliostat.kube.resource_types import ResourceTypes
from heliostat.operator.kinds import POD, RAY_CLUSTER, RESOURCES, SECRET, TYPES

FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
# What a successor may stamp anew: who vouches for the hash, and the hash (operator.md §17).
STAMPS = {"ray.io/kuberay-version", "ray.io/upgrade-strategy-recreate-hash"}

_TYPES = ResourceTypes(TYPES)
_TIME = "2027-01-15T08:00:00Z"
_NODE_TYPE = "ray.io/node-type"
_NODE_OF_CERTIFICATE = {"head-certificate": "head", "worker-certificate": "worker"}


async def leave_objects(world: World, case: GoldenCase, namespace: str) -> None:
    """Pods run when their nodes have taken them."""
    await world.make_namespace(namespace)
    uids = {}
    for tree in clusters_of(case):
        metadata = tree["metadata"] | {"namespace": namespace} | _finalizers_of(tree)
        made = await world.admin.create(RAY_CLUSTER, tree | {"metadata": metadata})
        uids[made["metadata"]["name"]] = made["metadata"]["uid"]
    for tree in sorted(case.expected["creates"], key=lambda tree: tree["kind"] == POD.kind):
        await world.admin.create(_TYPES.of(tree["apiVersion"], tree["kind"]), unmask(tree, namespace, uids))


def _finalizers_of(tree: Tree) -> Tree:
    """Fault tolerance with Redis, in its new form or its old one."""
    options = tree["spec"].get("gcsFaultToleranceOptions")
    is_old_form = (tree["metadata"].get("annotations") or {}).get("ray.io/ft-enabled") == "true"
    has_redis = (options is not None and "storage" not in options) or (options is None and is_old_form)
    return {"finalizers": [FINALIZER]} if has_redis else {}


def unmask(tree: Tree, namespace: str, uids: dict[str, str]) -> Tree:
    (owner,) = tree["metadata"]["ownerReferences"]
    index = tree["metadata"].get("labels", {}).get("ray.io/worker-group-replica-index", "0")
    text = re.sub(r"\bNAMESPACE\b", namespace, msgspec.json.encode(tree).decode())
    text = text.replace('"uid":"UID"', f'"uid":"{uids[owner["name"]]}"').replace("RAND5", f"{int(index):05d}")
    unmasked: Tree = msgspec.json.decode(text)
    return unmasked


async def leave_traces(world: World, case: GoldenCase, namespace: str) -> None:
    """What KubeRay wrote once Pods had addresses: certificates, the owners of their Secrets, the status."""
    admin = world.admin
    pods = await admin.items(POD, namespace)
    for certificate in await admin.items(CERTIFICATE, namespace):
        await _complete_certificate(admin, certificate, pods)
    recorded = [entry["status"] for entry in case.expected["last_status"] if entry["resource"] == RAY_CLUSTER.plural]
    for tree, status in zip(clusters_of(case), recorded, strict=False):  # a refused cluster has none
        name = tree["metadata"]["name"]
        changes = {"status": await _fill_status(admin, namespace, status, pods)}
        await admin.merge(RAY_CLUSTER, namespace, name, changes, "status")


async def _complete_certificate(admin: Administrator, certificate: Tree, pods: list[Tree]) -> None:
    metadata, namespace = certificate["metadata"], certificate["metadata"]["namespace"]
    node = _NODE_OF_CERTIFICATE.get(metadata["labels"]["app.kubernetes.io/component"])
    if node is not None:
        living = [pod["status"]["podIP"] for pod in pods if pod["metadata"]["labels"][_NODE_TYPE] == node]
        changes = {"spec": {"ipAddresses": ["127.0.0.1", *living]}}
        await admin.merge(CERTIFICATE, namespace, metadata["name"], changes)
    owner = {key: certificate[key] for key in ("apiVersion", "kind")} | {key: metadata[key] for key in ("name", "uid")}
    changes = {"metadata": {"ownerReferences": [owner]}}
    await admin.merge(SECRET, namespace, certificate["spec"]["secretName"], changes)


async def _fill_status(admin: Administrator, namespace: str, status: Tree, pods: list[Tree]) -> Tree:
    text = msgspec.json.encode(status).decode().replace('"TIME"', f'"{_TIME}"')
    filled: Tree = msgspec.json.decode(text) | {"observedGeneration": 1}
    head = filled.get("head") or {}
    if "serviceName" in head:
        service = await admin.get(RESOURCES[SERVICE], namespace, head["serviceName"])
        filled["head"] = head | _addresses(head, _find_head(head, pods), service)
        filled["endpoints"] = _endpoints(filled["endpoints"], service)
    return filled


def _find_head(head: Tree, pods: list[Tree]) -> Tree | None:
    """By its name without what was drawn; a suspended cluster has none."""
    if "podName" not in head:
        return None
    prefix = re.sub(r"[^-]+$", "", head["podName"])
    (pod,) = [pod for pod in pods if pod["metadata"]["name"].startswith(prefix)]
    return pod


def _addresses(head: Tree, pod: Tree | None, service: Tree) -> Tree:
    """A headless Service has its Pod's."""
    name = pod["metadata"]["name"] if pod is not None else ""
    pod_ip = pod["status"].get("podIP", "") if pod is not None else ""
    own = service["spec"]["clusterIP"]
    known = {"podName": name, "podIP": pod_ip, "serviceIP": pod_ip if own == "None" else own}
    return {key: value for key, value in known.items() if key in head}


def _endpoints(recorded: Tree, service: Tree) -> Tree:
    drawn = {port["name"]: str(port["nodePort"]) for port in service["spec"]["ports"] if "nodePort" in port}
    return {name: drawn.get(name, port) for name, port in recorded.items()}


def judge_take_over(case: GoldenCase, writes: list[Write]) -> list[str]:
    """A status that the recording left unfinished may go on; one that was complete stays as it is."""
    if not _was_complete(case.expected):
        writes = [write for write in writes if write.use.subresource != "status"]
    return list_intrusions(writes)


def _was_complete(expected: Tree) -> bool:
    """Ready or suspended, and with all addresses known: the recording's nodes had none of their own."""
    statuses = [entry["status"] for entry in expected["last_status"]]
    return all("state" in status for status in statuses) and not is_in_host_network(expected)


def list_intrusions(writes: list[Write]) -> list[str]:
    """What was written beyond the stamps, which stand on Pods."""
    return [f"{write}: {_shorten(write.tree)}" for write in writes if not _is_stamp(write)]


def _is_stamp(write: Write) -> bool:
    if write.use.verb != "patch" or write.use.resource != POD.plural:
        return False
    metadata = write.tree["metadata"]
    stamped = set(metadata.get("annotations") or ())
    return (
        set(write.tree) == {"metadata"}
        and set(metadata) <= {"annotations", "uid", "resourceVersion"}
        and stamped <= STAMPS
    )


def _shorten(tree: Any) -> str:
    return msgspec.json.encode(tree).decode()[:600]
