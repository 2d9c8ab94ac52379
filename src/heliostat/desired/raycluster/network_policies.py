"""Network isolation: one NetworkPolicy for the head and one for each worker group (raycluster.md §12)."""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import NetworkPolicyGroupRules, NetworkPolicyRules, NetworkPolicySpec
from heliostat.desired import labels
from heliostat.desired.ports import DASHBOARD_PORT, port_param
from heliostat.desired.raycluster.context import BuildContext, build_owned
from heliostat.kube.jsontree import copy_tree

Rules = NetworkPolicyRules | NetworkPolicyGroupRules | None

_INGRESS_MODES = ("DenyAll", "DenyAllIngress")
_EGRESS_MODES = ("DenyAll", "DenyAllEgress")


def build_network_policies(context: BuildContext) -> tuple[JsonObject, ...]:
    policy = context.spec.network_policy
    if policy is None or not context.settings.gate("RayClusterNetworkPolicy"):
        return ()
    overrides = {entry.group_name: entry for entry in policy.worker_groups or []}
    policies = [_build(context, policy, f"{context.name}-head", labels.HEAD, labels.HEAD_GROUP, policy.head)]
    for group in context.spec.worker_group_specs or []:
        rules = overrides.get(group.group_name, policy.worker)
        name = f"{context.name}-workers-{group.group_name}"
        policies.append(_build(context, policy, name, labels.WORKER, group.group_name, rules))
    return tuple(policies)


def _build(
    context: BuildContext, policy: NetworkPolicySpec, name: str, node_type: str, group: str, rules: Rules
) -> JsonObject:
    mode = policy.mode or "DenyAll"
    selector = {labels.CLUSTER: context.name, labels.NODE_TYPE: node_type}
    if node_type == labels.WORKER:
        selector[labels.GROUP] = group
    members = {"podSelector": {"matchLabels": {labels.CLUSTER: context.name}}}
    spec: JsonObject = {"podSelector": {"matchLabels": selector}, "policyTypes": []}
    if mode in _INGRESS_MODES:
        spec["policyTypes"].append("Ingress")
        submitter = _submitter_rule(context) if node_type == labels.HEAD else []
        spec["ingress"] = [{"from": [members]}, *submitter, *copy_tree((rules and rules.ingress_rules) or [])]
    if mode in _EGRESS_MODES:
        spec["policyTypes"].append("Egress")
        spec["egress"] = [{"to": [members]}, *copy_tree((rules and rules.egress_rules) or [])]
    policy_labels = {**labels.owned_labels(context.name), labels.GROUP: group}
    result = build_owned(context, "networking.k8s.io/v1", "NetworkPolicy", name, policy_labels)
    result["spec"] = spec
    return result


def _submitter_rule(context: BuildContext) -> list[JsonObject]:
    """A RayJob's submitter Pod is no member of the cluster, but has to reach the dashboard."""
    job = _owning_job(context)
    if job is None or context.labels.get(labels.SUBMISSION_MODE) != "K8sJobMode":
        return []
    submitter = {labels.ORIGIN_NAME: job, labels.ORIGIN_KIND: "RayJob"}
    port = port_param(context.spec.head_group_spec.ray_start_params or {}, "dashboard-port", DASHBOARD_PORT)
    return [
        {
            "from": [{"podSelector": {"matchLabels": submitter}}],
            "ports": [{"protocol": "TCP", "port": port}],
        }
    ]


def _owning_job(context: BuildContext) -> str | None:
    for owner in context.cluster.metadata.owner_references or []:
        if owner.get("controller") and owner.get("kind") == "RayJob" and owner["apiVersion"].startswith("ray.io/"):
            return str(owner["name"])
    return None
