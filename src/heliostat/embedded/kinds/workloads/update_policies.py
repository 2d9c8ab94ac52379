"""What an update means for a kind: whether it creates what is not there, and whether it must name a version.

Kinds that need a version are those whose writers compete: who does not say what was read would overwrite it unseen.
"""

_MADE_BY_UPDATE = {
    "": ("endpoints", "events", "limitranges", "services"),
    "coordination.k8s.io": ("leasecandidates", "leases"),
    "node.k8s.io": ("runtimeclasses",),
    "rbac.authorization.k8s.io": ("clusterrolebindings", "clusterroles", "rolebindings", "roles"),
}
_NEEDING_A_VERSION = {
    "admissionregistration.k8s.io": (
        "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
        "validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
    ),
    "apiextensions.k8s.io": ("customresourcedefinitions",),
    "apiregistration.k8s.io": ("apiservices",),
    "certificates.k8s.io": ("clustertrustbundles", "podcertificaterequests"),
    "coordination.k8s.io": ("leasecandidates", "leases"),
    "internal.apiserver.k8s.io": ("storageversions",),
    "node.k8s.io": ("runtimeclasses",),
    "policy": ("poddisruptionbudgets",),
    "storage.k8s.io": ("csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"),
    "storagemigration.k8s.io": ("storageversionmigrations",),
}  # fmt: skip


def _storage_names(by_group: dict[str, tuple[str, ...]]) -> frozenset[str]:
    return frozenset(
        f"{plural}.{group}" if group else plural for group, plurals in by_group.items() for plural in plurals
    )


MADE_BY_UPDATE = _storage_names(_MADE_BY_UPDATE)
NEEDING_A_VERSION = _storage_names(_NEEDING_A_VERSION)
