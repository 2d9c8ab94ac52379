"""Which built-in kinds answer a deletion with the object that went; all others answer with a Status."""

RETURNED_WHEN_DELETED = frozenset(
    {
        "csidrivers.storage.k8s.io", "csinodes.storage.k8s.io", "deviceclasses.resource.k8s.io",
        "devicetaintrules.resource.k8s.io", "namespaces", "persistentvolumeclaims", "persistentvolumes", "pods",
        "podtemplates", "resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io",
        "resourcequotas", "resourceslices.resource.k8s.io", "serviceaccounts", "services",
        "storageclasses.storage.k8s.io", "volumeattachments.storage.k8s.io", "volumeattributesclasses.storage.k8s.io",
    }
)  # fmt: skip
