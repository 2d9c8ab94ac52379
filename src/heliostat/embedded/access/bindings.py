"""RoleBindings and ClusterRoleBindings: which subjects get which role, and how a binding is named in a reason.

Rules: a ServiceAccount is the user of its name, in the subject's namespace or else in the binding's own; without either
it is nobody. The sentences are kube-apiserver's.
"""

from msgspec import Struct

from heliostat.embedded.access.users import service_account_user_name
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject


class RoleRef(Struct, frozen=True):
    kind: str  # Role or ClusterRole
    name: str

    @property
    def not_found(self) -> str:
        return f"{self.kind.lower()}.rbac.authorization.k8s.io {go_quote(self.name)} not found"


class Subject(Struct, frozen=True):
    kind: str  # User, Group or ServiceAccount
    name: str
    namespace: str = ""

    @property
    def account(self) -> tuple[str, str] | None:
        """``User`` or ``Group`` with the name a request's user carries; None for what nobody can be."""
        if self.kind != "ServiceAccount":
            return self.kind, self.name
        return ("User", service_account_user_name(self.namespace, self.name)) if self.namespace else None

    def __str__(self) -> str:
        name = f"{self.name}/{self.namespace}" if self.kind == "ServiceAccount" else self.name
        return f"{self.kind} {go_quote(name)}"


class Binding(Struct, frozen=True):
    kind: str  # RoleBinding or ClusterRoleBinding
    namespace: str
    name: str
    role: RoleRef
    subjects: tuple[Subject, ...]

    def describe(self, subject: Subject) -> str:
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        return f"{self.kind} {go_quote(name)} of {self.role.kind} {go_quote(self.role.name)} to {subject}"


def read_binding(tree: JsonObject) -> Binding:
    """A stored binding, which validation has seen before."""
    metadata, role = tree["metadata"], read_role_ref(tree)
    namespace = metadata.get("namespace") or ""
    subjects = tuple(_read_subject(subject, namespace) for subject in tree.get("subjects") or ())
    return Binding(tree["kind"], namespace, metadata["name"], role, subjects)


def read_role_ref(tree: JsonObject) -> RoleRef:
    return RoleRef(tree["roleRef"].get("kind") or "", tree["roleRef"].get("name") or "")


def _read_subject(tree: JsonObject, namespace: str) -> Subject:
    kind = tree.get("kind") or ""
    own = (tree.get("namespace") or namespace) if kind == "ServiceAccount" else ""
    return Subject(kind, tree.get("name") or "", own)
