"""What was played against what was recorded: objects by the goldens' own compare.py, events, the last status.

Rules: a verdict is a list of differences in words; what only chance, time or the operator's own name decides is
masked on both sides alike. Deviations that are meant are named here, with their id of docs/differences.md.
"""

import json
import re
from typing import Any

from conformance.operator.playing import Played, Tree
from golden_cases import GoldenCase, load_compare
from heliostat.desired import labels
from heliostat.plan.own_conditions import OWN_CONDITIONS

# KubeRay tells the deletion of a suspended group's Pods in every pass, also when the group has none (R5-23); and its
# cache once made it create a certificate twice.
NOT_TOLD = (
    ("DeletedWorkerPod", "Deleted all pods for suspended worker group "),
    ("MTLSFailedToReconcile", "Failed to reconcile mTLS worker certificate: "),
)
_SUFFIX = re.compile(r"(-(?:head|worker)-)[a-z0-9]{5}\b")
_ADDRESSES = re.compile(r"\b\d+\.\d+\.\d+\.\d+\b(?: \d+\.\d+\.\d+\.\d+)*")
_TAKEN_APART = ("lastUpdateTime", "observedGeneration", "conditions", "head", "endpoints", "stateTransitionTimes")
_FIRST_NODE_PORT = 30000
_ADDRESS_LINES = ("status.podIP: recorded None", "status.serviceIP: recorded None")


def judge(case: GoldenCase, played: Played) -> list[str]:
    expected = case.expected
    created = mask_namespace(played.created, played.namespace)
    return [
        *load_compare().compare({"creates": expected["creates"]}, created, subset=False),
        *judge_events(expected["events"], mask_namespace(played.events, played.namespace)),
        *_judge_own_conditions(expected["events"], played.clusters),
        *judge_statuses(expected["last_status"], played.clusters, has_addresses=not is_in_host_network(expected)),
    ]


def judge_events(recorded: list[Tree], told: list[Tree]) -> list[str]:
    """The same reasons; and since a recorded series keeps its first words alone, those words among ours."""
    wanted = {(event["type"], event["reason"], mask_text(event["message"])) for event in recorded}
    got = {(event["type"], event["reason"], mask_text(event["note"])) for event in told}
    missing = [f"event not told: {event}" for event in sorted(wanted - got) if not _is_never_told(*event[1:])]
    known = {event[:2] for event in wanted}
    return missing + [f"event told, not recorded: {event}" for event in sorted(got) if event[:2] not in known]


def _is_never_told(reason: str, message: str) -> bool:
    return any(reason == known and message.startswith(words) for known, words in NOT_TOLD)


def _judge_own_conditions(recorded: list[Tree], clusters: list[Tree]) -> list[str]:
    """A condition that KubeRay does not have appears only where KubeRay warned."""
    has_warning = any(event["type"] == "Warning" for event in recorded)
    shown = {
        condition["type"] for cluster in clusters for condition in (cluster.get("status") or {}).get("conditions", ())
    }
    return [f"condition {type_} without a reason" for type_ in OWN_CONDITIONS if type_ in shown and not has_warning]


def is_in_host_network(expected: Tree) -> bool:
    heads = [tree for tree in expected["creates"] if tree["metadata"].get("labels", {}).get(labels.NODE_TYPE) == "head"]
    return any(tree["kind"] == "Pod" and tree["spec"].get("hostNetwork") for tree in heads)


def judge_statuses(recorded: list[Tree], clusters: list[Tree], *, has_addresses: bool) -> list[str]:
    """A cluster without a status was refused; there none was recorded either.

    The recording's nodes had no addresses, so a head in the host's network had none.
    """
    last = [entry["status"] for entry in recorded if entry["resource"] == "rayclusters"]
    ours = [cluster["status"] for cluster in clusters if cluster.get("status")]
    if len(last) != len(ours):
        return [f"{len(last)} clusters had a status, ours {len(ours)}"]
    differing = [line for theirs, own in zip(last, ours, strict=True) for line in judge_status(theirs, own)]
    if not has_addresses:
        differing = [line for line in differing if not line.startswith(_ADDRESS_LINES)]
    return differing + [problem for cluster in clusters for problem in _judge_generation(cluster)]


def judge_status(recorded: Tree, ours: Tree) -> list[str]:
    """A recording may have ended before its Pods were ready: then we may be further than it, and never behind."""
    theirs, own = mask_status(recorded), mask_status(ours)
    is_unfinished = "state" not in recorded
    keys = sorted(theirs.keys() | own.keys())
    return [
        f"status.{key}: recorded {theirs.get(key)}, got {own.get(key)}"
        for key in keys
        if theirs.get(key) != own.get(key) and not (is_unfinished and _is_further(key, theirs.get(key), own.get(key)))
    ]


def _is_further(key: str, recorded: Any, ours: Any) -> bool:
    if key in ("readyWorkerReplicas", "availableWorkerReplicas"):
        return (ours or 0) >= (recorded or 0)
    if key == "state":
        return bool(ours == "ready")
    if key in ("HeadPodReady", "RayClusterProvisioned"):
        return bool(ours["status"] == "True")
    return key == "stateTransitionTimes" or (key in ("podIP", "serviceIP") and recorded is None)


def _judge_generation(cluster: Tree) -> list[str]:
    """KubeRay writes whole objects, which may change their generation; ours must have been seen, whatever it is."""
    status, generation = cluster.get("status"), cluster["metadata"]["generation"]
    seen = status.get("observedGeneration") if status else generation
    return [] if seen == generation else [f"observedGeneration is {seen}, the generation {generation}"]


def mask_namespace(trees: list[Tree], namespace: str) -> list[Tree]:
    text = re.sub(rf"(?<![\w-]){namespace}(?![\w-])", "NAMESPACE", json.dumps(trees))
    masked: list[Tree] = json.loads(text)
    return masked


def mask_text(text: str) -> str:
    return _ADDRESSES.sub("IPs", _SUFFIX.sub(r"\1RAND5", text))


def mask_status(status: Tree) -> Tree:
    """Flat: conditions by type, and what is known of the head. Times, addresses and drawn numbers are masked."""
    conditions = status.get("conditions") or {}
    if isinstance(conditions, list):
        conditions = {condition["type"]: condition for condition in conditions}
    told = {
        type_: {key: condition.get(key, "") for key in ("status", "reason", "message")}
        for type_, condition in conditions.items()
        if type_ not in OWN_CONDITIONS
    }
    head = {key: "IP" if key.endswith("IP") else mask_text(name) for key, name in (status.get("head") or {}).items()}
    plain = {key: value for key, value in status.items() if key not in _TAKEN_APART}
    endpoints = {name: _mask_port(port) for name, port in (status.get("endpoints") or {}).items()}
    return plain | told | head | {"endpoints": endpoints} | _times_of(status)


def _times_of(status: Tree) -> Tree:
    return {"stateTransitionTimes": sorted(status.get("stateTransitionTimes") or {})}


def _mask_port(port: str) -> str:
    return port if int(port) < _FIRST_NODE_PORT else "NODEPORT"
