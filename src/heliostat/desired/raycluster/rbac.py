"""The autoscaler's minimal RBAC: ServiceAccount, Role and RoleBinding (raycluster.md §4.1, constants.md §17)."""

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.names import check_name
from heliostat.desired.raycluster.autoscaler import service_account_name
from heliostat.desired.raycluster.context import BuildContext, build_owned

_RBAC = "rbac.authorization.k8s.io"


def users_service_account(context: BuildContext) -> str | None:
    """The ServiceAccount that the user named for the head and has to bring along."""
    account = (context.spec.head_group_spec.template.get("spec") or {}).get("serviceAccountName")
    return account if account and context.is_autoscaling else None


def build_service_account(context: BuildContext) -> JsonObject | None:
    if not context.is_autoscaling or users_service_account(context):
        return None
    name = check_name(service_account_name(context))
    return build_owned(context, "v1", "ServiceAccount", name, labels.owned_labels(context.name))


def build_role(context: BuildContext) -> JsonObject | None:
    if not context.is_autoscaling:
        return None
    name = check_name(context.name)
    role = build_owned(context, f"{_RBAC}/v1", "Role", name, labels.owned_labels(context.name))
    role["rules"] = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
        {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "patch"]},
    ]
    return role


def build_role_binding(context: BuildContext) -> JsonObject | None:
    if not context.is_autoscaling:
        return None
    name = check_name(context.name)
    binding = build_owned(context, f"{_RBAC}/v1", "RoleBinding", name, labels.owned_labels(context.name))
    account = check_name(service_account_name(context))
    binding["subjects"] = [{"kind": "ServiceAccount", "name": account, "namespace": context.namespace}]
    binding["roleRef"] = {"apiGroup": _RBAC, "kind": "Role", "name": name}
    return binding
