"""Which built-in kinds count the changes of what is wanted of them in ``metadata.generation``.

kube-apiserver compares some of them in the form in which they came, where an empty list is not the same as none,
although neither is kept.
"""

from typing import Any

from heliostat.kube.jsontree import JsonObject

_GENERATION_BY_GROUP = {
    "": ("pods", "podtemplates", "replicationcontrollers"),
    "admissionregistration.k8s.io": (
        "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
        "validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
    ),
    "apiextensions.k8s.io": ("customresourcedefinitions",),
    "apps": ("daemonsets", "deployments", "replicasets", "statefulsets"),
    "batch": ("cronjobs", "jobs"),
    "discovery.k8s.io": ("endpointslices",),
    "flowcontrol.apiserver.k8s.io": ("flowschemas", "prioritylevelconfigurations"),
    "networking.k8s.io": ("ingressclasses", "ingresses", "networkpolicies"),
    "policy": ("poddisruptionbudgets",),
    "resource.k8s.io": ("deviceclasses", "devicetaintrules", "resourceslices"),
    "scheduling.k8s.io": ("priorityclasses",),
}  # fmt: skip
COUNTING = frozenset(
    f"{plural}.{group}" if group else plural for group, plurals in _GENERATION_BY_GROUP.items() for plural in plurals
)
_COMPARED_AS_THEY_CAME = {
    "networkpolicies.networking.k8s.io": "spec",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": "webhooks",
    "validatingwebhookconfigurations.admissionregistration.k8s.io": "webhooks",
}
_MAPS = frozenset({"matchLabels"})  # of these kinds; other empty objects are kept
_FILLED_IN = frozenset({"policyTypes"})  # when they are empty


def counts_empty_parts(tree: JsonObject, storage_name: str) -> bool:
    """Whether an object, as it came, counts as changed for an empty list or map in it."""
    part = _COMPARED_AS_THEY_CAME.get(storage_name)
    return part is not None and _has_empty_part(tree.get(part))


def _has_empty_part(value: Any) -> bool:
    if isinstance(value, list):
        return not value or any(map(_has_empty_part, value))
    if not isinstance(value, dict):
        return False
    parts = ((key, child) for key, child in value.items() if key not in _FILLED_IN)
    return any((key in _MAPS and child == {}) or _has_empty_part(child) for key, child in parts)
