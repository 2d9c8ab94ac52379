"""Objects and statuses of a recorded life, made whole again: as KubeRay would have left them on a server."""

import re
from typing import Any

import msgspec

from conformance.operator.playing import Tree
from heliostat.kube.jsontree import copy_tree
from heliostat.kube.timestamps import format_timestamp
from heliostat.operator.kinds import POD, RAY_CLUSTER


def whole_object(write: Tree, made: list[Tree]) -> Tree:
    """Of a Pod a life tells only the labels: the rest is that of its group's template."""
    if write["resource"] != POD.plural:
        whole: Tree = write["object"]
        return whole
    labels = write["object"]["labels"]
    place = (RAY_CLUSTER.kind, labels["ray.io/cluster"])
    (cluster,) = [tree for tree in made if (tree["kind"], tree["metadata"].get("name")) == place]
    is_head = labels["ray.io/node-type"] == "head"
    group = cluster["spec"]["headGroupSpec"] if is_head else cluster["spec"]["workerGroupSpecs"][0]
    owner = {"apiVersion": "ray.io/v1", "kind": RAY_CLUSTER.kind, "name": labels["ray.io/cluster"], "controller": True}
    metadata = {
        "name": f"{write['name']}x2x4x",
        "namespace": cluster["metadata"]["namespace"],
        "labels": labels,
        "ownerReferences": [owner],
    }
    return {"apiVersion": "v1", "kind": POD.kind, "metadata": metadata, "spec": group["template"]["spec"]}


def fold_status(status: Tree, changes: list[Tree]) -> Tree:
    folded: Tree = copy_tree(status)
    for change in changes:
        *way, last = re.findall(r"\.([^.\[]+)", change["path"])
        place = folded
        for part in way:
            place = place.setdefault(part, {})
        if change["to"] is None:
            place.pop(last, None)
        else:
            place[last] = change["to"]
    return folded


def unmask(tree: Tree, namespace: str, uids: dict[tuple[str, str], str]) -> Tree:
    """Its owners are those of ``uids``, by kind and name."""
    unmasked: Tree = _lower(tree, namespace)
    for owner in unmasked["metadata"].get("ownerReferences") or ():
        owner["uid"] = uids[owner["kind"], owner["name"]]
    return unmasked


def fill_status(status: Tree, namespace: str, now: float) -> Tree:
    filled: Tree = _with_lists(_lower(status, namespace, format_timestamp(now)), format_timestamp(now))
    return filled


def _with_lists(tree: Any, time: str) -> Any:
    """Conditions, also of the clusters that a status tells of, as the lists that they are, and since now."""
    if not isinstance(tree, dict):
        return tree
    filled = {key: _with_lists(value, time) for key, value in tree.items()}
    if isinstance(tree.get("conditions"), dict):
        since = {"lastTransitionTime": time}
        filled["conditions"] = [{"type": type_, **each, **since} for type_, each in tree["conditions"].items()]
    return filled


def _lower(tree: Any, namespace: str, time: str = "") -> Any:
    """Names are what a server takes: the recording's C1 and ID1 are not."""
    text = msgspec.json.encode(tree).decode()
    text = re.sub(r"-(C|ID)(\d)\b", lambda found: f"-{found[1].lower()}{found[2]}", text)
    text = re.sub(r"\bNAMESPACE\b", namespace, text).replace("RAND5", "x2x4x").replace('"TIME"', f'"{time}"')
    return msgspec.json.decode(text.replace('"IP"', '"10.0.0.1"'))
