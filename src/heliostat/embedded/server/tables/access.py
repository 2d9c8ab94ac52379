"""The columns of roles, their bindings and certificates."""

from heliostat.embedded.server.tables.columns import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    Column,
    Columns,
    computed,
    items,
    look,
    text,
)
from heliostat.embedded.server.tables.durations import human_duration
from heliostat.kube.jsontree import JsonObject


def _role(binding: JsonObject) -> str:
    return f"{look(binding, 'roleRef.kind')}/{look(binding, 'roleRef.name')}"


def _subjects(heading: str, kind: str) -> Column:
    def read(binding: JsonObject) -> str:
        found = [subject for subject in items(binding, "subjects") if subject.get("kind") == kind]
        return ", ".join(_subject(subject) for subject in found)

    return computed(heading, read, priority=1)


def _subject(subject: JsonObject) -> str:
    name = str(subject.get("name"))
    return f"{subject.get('namespace') or ''}/{name}" if subject.get("kind") == "ServiceAccount" else name


def _requested_duration(request: JsonObject) -> str:
    seconds = look(request, "spec.expirationSeconds")
    return human_duration(seconds) if seconds is not None else NONE


def _condition_types(request: JsonObject) -> set[str]:
    return {str(condition.get("type")) for condition in items(request, "status.conditions")}


def _certificate_state(request: JsonObject) -> str:
    types = _condition_types(request)
    words = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    words += ["Failed"] if "Failed" in types else []
    words += ["Issued"] if look(request, "status.certificate") else []
    return ",".join(words)


def _pod_certificate_state(request: JsonObject) -> str:
    types = _condition_types(request)
    return next((state for state in ("Issued", "Denied", "Failed") if state in types), "Pending")


_BINDING: Columns = (
    NAME,
    computed("Role", _role),
    AGE,
    _subjects("Users", "User"),
    _subjects("Groups", "Group"),
    _subjects("ServiceAccounts", "ServiceAccount"),
)

ACCESS: dict[str, Columns] = {
    "roles.rbac.authorization.k8s.io": (NAME, CREATED_AT),
    "clusterroles.rbac.authorization.k8s.io": (NAME, CREATED_AT),
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "certificatesigningrequests.certificates.k8s.io": (
        NAME,
        AGE,
        text("SignerName", "spec.signerName", NONE),
        text("Requestor", "spec.username"),
        computed("RequestedDuration", _requested_duration),
        computed("Condition", _certificate_state),
    ),
    "clustertrustbundles.certificates.k8s.io": (NAME, text("SignerName", "spec.signerName", NONE)),
    "podcertificaterequests.certificates.k8s.io": (
        NAME,
        text("PodName", "spec.podName"),
        text("ServiceAccountName", "spec.serviceAccountName"),
        text("NodeName", "spec.nodeName"),
        text("SignerName", "spec.signerName"),
        computed("State", _pod_certificate_state),
    ),
}
