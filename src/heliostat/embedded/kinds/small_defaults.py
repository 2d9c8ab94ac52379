"""What kube-apiserver fills into the kinds that need a line or two: from ConfigMap to StorageClass."""

from binascii import b2a_base64
from typing import Any

from heliostat.kube.jsontree import JsonObject, copy_tree

_RBAC = "rbac.authorization.k8s.io"
NAMESPACE_LABEL = "kubernetes.io/metadata.name"


def fill_secret(tree: JsonObject) -> None:
    tree.setdefault("type", "Opaque")
    texts = tree.pop("stringData", None)
    if texts:
        data = tree.setdefault("data", {})
        data |= {key: b2a_base64(value.encode(), newline=False).decode() for key, value in texts.items()}


def fill_namespace(tree: JsonObject) -> None:
    name = tree["metadata"].get("name")
    if name:
        tree["metadata"].setdefault("labels", {})[NAMESPACE_LABEL] = name
    tree.setdefault("status", {}).setdefault("phase", "Active")


def fill_lease(tree: JsonObject) -> None:
    """Coordinated leader election is switched off in 1.34."""
    for name in ("strategy", "preferredHolder"):
        (tree.get("spec") or {}).pop(name, None)


def fill_claim(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    if "dataSource" in spec or "dataSourceRef" in spec:
        _pair_sources(spec)
    tree.setdefault("status", {}).setdefault("phase", "Pending")


_COPIED = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def _pair_sources(spec: JsonObject) -> None:
    """The older field takes claims and snapshots alone; the newer one tells the same."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if reference is None and source is not None:
        if (source.get("apiGroup") or "", source.get("kind")) not in _COPIED:
            del spec["dataSource"]
        else:
            spec["dataSourceRef"] = dict(source)
    elif source is None and reference is not None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def fill_volume_object(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if "hostPath" in spec:
        spec["hostPath"].setdefault("type", "")
    tree.setdefault("status", {}).setdefault("phase", "Pending")


def fill_node(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    one, several = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not several or several[0] != one):
        spec["podCIDRs"] = [one]
    elif several:
        spec["podCIDR"] = several[0]
    status = tree.get("status") or {}
    if "allocatable" not in status and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def fill_binding(tree: JsonObject) -> None:
    reference = tree.get("roleRef") or {}
    if not reference.get("apiGroup"):
        reference["apiGroup"] = _RBAC
    for subject in tree.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _RBAC)


def fill_network_policy(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def fill_ingress_class(tree: JsonObject) -> None:
    parameters = (tree.get("spec") or {}).get("parameters")
    if parameters and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def fill_priority_class(tree: JsonObject) -> None:
    tree.setdefault("preemptionPolicy", "PreemptLowerPriority")


def fill_endpoint_slice(tree: JsonObject) -> None:
    for port in tree.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def fill_endpoints(tree: JsonObject) -> None:
    for subset in tree.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def fill_storage_class(tree: JsonObject) -> None:
    tree.setdefault("reclaimPolicy", "Delete")
    tree.setdefault("volumeBindingMode", "Immediate")


def fill_driver(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("volumeLifecycleModes", ["Persistent"])
    for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(name, False)


def fill_limit_range(tree: JsonObject) -> None:
    for item in (tree.get("spec") or {}).get("limits") or ():
        if item.get("type") != "Container":
            continue
        limits = {**(item.get("max") or {}), **(item.get("default") or {})}
        requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
        for name, amounts in (("default", limits), ("defaultRequest", requests)):
            if amounts:
                item[name] = amounts


_SCALE_UP: JsonObject = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN: JsonObject = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_HALF_BUSY: list[Any] = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
]


def fill_autoscaler(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if tree.get("apiVersion") != "autoscaling/v2":
        return
    if not spec.get("metrics"):
        spec["metrics"] = copy_tree(_HALF_BUSY)
    behavior = spec.get("behavior")
    if behavior is not None:
        for name, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            behavior[name] = {**copy_tree(rules), **(behavior.get(name) or {})}
