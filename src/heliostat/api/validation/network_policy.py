"""Rules of network policies: V-S48 to V-S51.

A mode that restricts only one direction takes rules for that direction only. A policy object is named after its group,
so group names must be DNS labels; that is looked at before the entries that change the rules of single groups.
"""

from collections.abc import Iterator

from heliostat.api.raycluster import NetworkPolicyGroupRules, NetworkPolicyRules, NetworkPolicySpec
from heliostat.api.validation.scope import SpecScope, group_path
from heliostat.kube.names import dns1123_label_problems
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

NETWORK_POLICY_GATE = "RayClusterNetworkPolicy"
UNRESTRICTED_BY_MODE: dict[str, str] = {"DenyAllEgress": "ingressRules", "DenyAllIngress": "egressRules"}
_POLICY: Path = ("networkPolicy",)


def network_policy_problems(scope: SpecScope) -> Iterator[Problem]:
    policy = scope.spec.network_policy
    if policy is None:
        return
    if not scope.settings.gate(NETWORK_POLICY_GATE):
        yield scope.problem(
            "V-S48",
            _POLICY,
            f"spec.networkPolicy requires the {NETWORK_POLICY_GATE} feature gate to be enabled",
            f"start the operator with --feature-gates={NETWORK_POLICY_GATE}=true, or remove networkPolicy",
        )
    for side, rules in (("head", policy.head), ("worker", policy.worker)):
        if rules is not None:
            yield from _direction_problems(scope, policy, rules, side, (side,))
    yield from _group_name_problems(scope)
    for index, entry in enumerate(policy.worker_groups or []):
        yield from _entry_problems(scope, policy, entry, index)


def _direction_problems(
    scope: SpecScope,
    policy: NetworkPolicySpec,
    rules: NetworkPolicyRules | NetworkPolicyGroupRules,
    side: str,
    tail: Path,
) -> Iterator[Problem]:
    field = UNRESTRICTED_BY_MODE.get(policy.mode or "")
    given = {"ingressRules": rules.ingress_rules, "egressRules": rules.egress_rules}
    if field is not None and given[field]:
        yield scope.problem(
            "V-S49",
            (*_POLICY, *tail, field),
            f'networkPolicy.{side}.{field} cannot be set when mode is "{policy.mode}"'
            f" ({field.removesuffix('Rules')} is not restricted)",
            f"remove {field}, or set {scope.where(*_POLICY, 'mode')}: DenyAll",
        )


def _group_name_problems(scope: SpecScope) -> Iterator[Problem]:
    for index, group in enumerate(scope.groups):
        found = dns1123_label_problems(group.group_name)
        if found:
            yield scope.problem(
                "V-S50",
                group_path(index, "groupName"),
                f'worker group name "{group.group_name}" must be a valid DNS1123 label when networkPolicy is enabled'
                f" (it is embedded in the NetworkPolicy name): [{' '.join(found)}]",
                "use lower case letters, digits and '-' in the group name",
            )


def _entry_problems(
    scope: SpecScope, policy: NetworkPolicySpec, entry: NetworkPolicyGroupRules, index: int
) -> Iterator[Problem]:
    known = [group.group_name for group in scope.groups]
    side = f'workerGroups["{entry.group_name}"]'
    yield from _direction_problems(scope, policy, entry, side, ("workerGroups", index))
    if entry.group_name not in known:
        yield scope.problem(
            "V-S51",
            (*_POLICY, "workerGroups", index, "groupName"),
            f"networkPolicy.{side} does not match any group name in workerGroupSpecs",
            f"name one of the worker groups: {', '.join(known)}" if known else "remove the entry: there is no group",
        )
