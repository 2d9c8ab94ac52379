"""What a namespace lacks: its ServiceAccount ``default``, and the ConfigMap with the API server's certificate.

Rules: the account is only made in a namespace that is active; the ConfigMap in any that is not being deleted, and it
is put right whenever its data differ or its description is missing.
"""

from collections.abc import Mapping

from msgspec import Struct

from heliostat.embedded.controllers.views.namespaces import Namespace
from heliostat.embedded.controllers.views.root_certificates import CONFIG_MAP, ROOT_CERTIFICATE, RootCertificate
from heliostat.embedded.controllers.views.service_accounts import SERVICE_ACCOUNT
from heliostat.kube.jsontree import JsonObject, diff_merge_patch
from heliostat.kube.plan import Action, Create, Patch, Plan, Ref, Stage

DEFAULT_ACCOUNT = "default"
_DESCRIPTION = {
    "kubernetes.io/description": (
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the"
        " internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of"
        " Kubernetes clusters."
    )
}


class NamespaceView(Struct, frozen=True):
    namespace: Namespace
    has_account: bool
    certificate: RootCertificate | None


def plan_account(view: NamespaceView) -> Plan:
    if view.has_account or view.namespace.status.phase != "Active":
        return Plan()
    metadata = {"name": DEFAULT_ACCOUNT, "namespace": view.namespace.metadata.name}
    tree = {"apiVersion": SERVICE_ACCOUNT.api_version, "kind": SERVICE_ACCOUNT.kind, "metadata": metadata}
    return _plan(Create(tree, "every namespace has one"))


def plan_certificate(view: NamespaceView, data: Mapping[str, str]) -> Plan:
    known = view.certificate
    if known is None:
        return Plan() if view.namespace.metadata.is_terminating else _plan(_create(view.namespace, data))
    if known.data == data and _DESCRIPTION.keys() <= known.metadata.annotations.keys():
        return Plan()
    changes: JsonObject = {
        "metadata": {"annotations": dict(_DESCRIPTION)},
        "data": diff_merge_patch(dict(known.data), dict(data)),
    }
    metadata = known.metadata
    ref = Ref(CONFIG_MAP.api_version, CONFIG_MAP.kind, metadata.namespace, metadata.name)
    return _plan(Patch(ref, metadata.uid, metadata.resource_version, changes, "it does not say what it should"))


def _create(namespace: Namespace, data: Mapping[str, str]) -> Create:
    metadata = {"name": ROOT_CERTIFICATE, "namespace": namespace.metadata.name, "annotations": dict(_DESCRIPTION)}
    tree = {"apiVersion": CONFIG_MAP.api_version, "kind": CONFIG_MAP.kind, "metadata": metadata, "data": dict(data)}
    return Create(tree, "every namespace has one")


def _plan(action: Action) -> Plan:
    return Plan((Stage("namespace", (action,)),))
