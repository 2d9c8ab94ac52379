"""Which built-in kinds count the changes of what is wanted of them in ``metadata.generation``."""

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
