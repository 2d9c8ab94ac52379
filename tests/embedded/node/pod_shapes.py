"""Pods and situations for the tests of the node's decisions, made from as little as they need."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from heliostat.embedded.node.lifecycle import Health, Situation
from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.shim.journal import Run

NOW = 1_700_000_000.0
UID = "8f1c"
STARTED = "2023-11-14T22:13:20Z"  # the same moment as NOW

Tree = dict[str, Any]


def build_pod(*containers: Tree, metadata: Tree | None = None, status: Tree | None = None, **spec: Any) -> NodePod:
    tree = {
        "metadata": {"name": "p", "namespace": "default", "uid": UID, "resourceVersion": "1", **(metadata or {})},
        "spec": {"nodeName": "n", "containers": list(containers) or [container()], **spec},
        "status": status or {},
    }
    return msgspec.convert(tree, NodePod)


def container(name: str = "c", **fields: Any) -> Tree:
    return {"name": name, "image": "busybox", **fields}


def sidecar(name: str, **fields: Any) -> Tree:
    return container(name, restartPolicy="Always", **fields)


def running(name: str = "c", attempt: int = 0, at: float = NOW) -> Run:
    return Run(f"{UID}-{name}-{attempt}", name, at)


def ended(
    name: str = "c", code: int = 0, attempt: int = 0, at: float = NOW, seconds: float = 1.0, error: str = ""
) -> Run:
    signal = code - 128 if code > 128 else 0
    return Run(f"{UID}-{name}-{attempt}", name, at, at + seconds, code, signal, error)


def situation(
    pod: NodePod,
    *runs: Run,
    now: float = NOW + 1,
    has_sandbox: bool = True,
    was_prepared: bool = True,
    health: Mapping[str, Health] | None = None,
    earlier: Collection[Run] = (),
) -> Situation:
    ordered: Sequence[Run] = sorted(runs, key=lambda run: run.started_at)
    return Situation(
        pod=pod,
        runs=ordered,
        has_sandbox=has_sandbox,
        was_prepared=was_prepared,
        health=health or {},
        now=now,
        earlier=frozenset(run.id for run in earlier),
    )
