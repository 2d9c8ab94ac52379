"""What the schemas do not say about built-in kinds: short names, categories, subresources, field selectors, verbs."""

from heliostat.embedded.server.resources import STANDARD_VERBS, Resource
from heliostat.kube.core_schema import CoreKind, definition, kinds

_ALL: tuple[str, ...] = ("all",)

SHORT_NAMES: dict[str, tuple[str, ...]] = {
    "componentstatuses": ("cs",),
    "configmaps": ("cm",),
    "endpoints": ("ep",),
    "events": ("ev",),
    "limitranges": ("limits",),
    "namespaces": ("ns",),
    "nodes": ("no",),
    "persistentvolumeclaims": ("pvc",),
    "persistentvolumes": ("pv",),
    "pods": ("po",),
    "replicationcontrollers": ("rc",),
    "resourcequotas": ("quota",),
    "serviceaccounts": ("sa",),
    "services": ("svc",),
    "daemonsets": ("ds",),
    "deployments": ("deploy",),
    "replicasets": ("rs",),
    "statefulsets": ("sts",),
    "horizontalpodautoscalers": ("hpa",),
    "cronjobs": ("cj",),
    "certificatesigningrequests": ("csr",),
    "ingresses": ("ing",),
    "networkpolicies": ("netpol",),
    "ipaddresses": ("ip",),
    "poddisruptionbudgets": ("pdb",),
    "priorityclasses": ("pc",),
    "storageclasses": ("sc",),
    "customresourcedefinitions": ("crd", "crds"),
    "volumeattributesclasses": ("vac",),
}

CATEGORIES: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("pods", "services", "replicationcontrollers", "daemonsets", "deployments", "replicasets", "statefulsets",
     "horizontalpodautoscalers", "cronjobs", "jobs"),
    _ALL,
) | {
    "customresourcedefinitions": ("api-extensions",),
    "mutatingwebhookconfigurations": ("api-extensions",),
    "validatingwebhookconfigurations": ("api-extensions",),
    "mutatingadmissionpolicies": ("api-extensions",),
    "mutatingadmissionpolicybindings": ("api-extensions",),
    "validatingadmissionpolicies": ("api-extensions",),
    "validatingadmissionpolicybindings": ("api-extensions",),
    "apiservices": ("api-extensions",),
}  # fmt: skip

# Besides "status", which every kind with a status has, except those of WITHOUT_STATUS.
SUBRESOURCES: dict[str, tuple[str, ...]] = {
    "pods": ("attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy", "resize"),
    "services": ("proxy",),
    "nodes": ("proxy",),
    "namespaces": ("finalize",),
    "serviceaccounts": ("token",),
    "deployments": ("scale",),
    "replicasets": ("scale",),
    "statefulsets": ("scale",),
    "replicationcontrollers": ("scale",),
    "certificatesigningrequests": ("approval",),
}

SELECTABLE: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
        "reportingComponent", "source", "type",
    ),
    "namespaces": ("status.phase",),
    "nodes": ("spec.unschedulable",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "jobs": ("status.successful",),
    "replicasets": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
    "certificatesigningrequests": ("spec.signerName",),
}  # fmt: skip

# Answered once, never kept.
CREATE_ONLY = frozenset(
    {
        "tokenreviews",
        "selfsubjectreviews",
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
        "bindings",
    }
)
READ_ONLY = frozenset({"componentstatuses"})
_NOT_KEPT = (  # served, but nobody can write and read one back
    CoreKind("v1", "Binding", "core.v1.Binding", "bindings", is_namespaced=True),
    CoreKind("v1", "ComponentStatus", "core.v1.ComponentStatus", "componentstatuses", is_namespaced=False),
)
# A kind that several groups or versions serve is kept once, under this apiVersion.
STORED_AS = {"autoscaling": "autoscaling/v2", "events.k8s.io": "v1"}


def builtin_resources(*, with_previews: bool = False) -> list[Resource]:
    """Stable versions, as kube-apiserver serves by default; ``with_previews`` adds alpha and beta ones."""
    return [_build(kind) for kind in (*kinds(), *_NOT_KEPT) if with_previews or _is_stable(kind.api_version)]


def _is_stable(api_version: str) -> bool:
    return api_version.rpartition("/")[2].removeprefix("v").isdecimal()


def _build(kind: CoreKind) -> Resource:
    group, slash, version = kind.api_version.rpartition("/")
    properties = definition(kind.definition).get("properties", {})
    subresources = set(SUBRESOURCES.get(kind.plural, ()))
    if "status" in properties and kind.plural not in CREATE_ONLY:
        subresources.add("status")
    group = group if slash else ""
    verbs = STANDARD_VERBS
    if kind.plural in CREATE_ONLY:
        verbs = ("create",)
    elif kind.plural in READ_ONLY:
        verbs = ("get", "list")
    elif kind.plural == "namespaces":  # there is no deleting of all namespaces at once
        verbs = tuple(verb for verb in STANDARD_VERBS if verb != "deletecollection")
    return Resource(
        group=group,
        version=version,
        plural=kind.plural,
        kind=kind.kind,
        singular=kind.kind.lower(),
        list_kind=f"{kind.kind}List",
        is_namespaced=kind.is_namespaced,
        short_names=SHORT_NAMES.get(kind.plural, ()) if group != "events.k8s.io" else ("ev",),
        categories=CATEGORIES.get(kind.plural, ()),
        subresources=frozenset(subresources),
        verbs=verbs,
        schema={"$ref": kind.definition},
        definitions=definition,
        definition=kind.definition,
        storage_version=STORED_AS.get(group, kind.api_version),
        storage_name="events" if kind.plural == "events" else (f"{kind.plural}.{group}" if group else kind.plural),
        selectable=SELECTABLE.get(kind.plural, ()),
    )
