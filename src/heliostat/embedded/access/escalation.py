"""Nobody hands out rights they do not have: what may be written to roles and bindings.

Rules: a role may hold only rights its writer has, unless the writer may ``escalate`` it; a binding may name only a role
whose rights its writer has, unless the writer may ``bind`` it; setting or changing an aggregation needs all rights; a
write that only changes owners or finalizers (garbage collection) passes. Rights count where the write happens: in its
namespace, or in the cluster; ``system:masters`` may escalate and bind, as it may everything. The sentences are
kube-apiserver's.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from heliostat.embedded.access.aggregation import is_aggregated
from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.bindings import read_role_ref
from heliostat.embedded.access.policy_rules import Rule, quote_list, read_rules
from heliostat.embedded.access.rbac import Policy, join_problems
from heliostat.embedded.access.rule_coverage import compact, find_missing
from heliostat.embedded.access.users import User
from heliostat.embedded.refusals import RefusedError, forbidden, not_found
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject

GROUP = "rbac.authorization.k8s.io"
_FULL_AUTHORITY = (Rule(("*",), ("*",), ("*",)), Rule(("*",), paths=("*",)))
_RESOURCES = {
    "Role": "roles",
    "ClusterRole": "clusterroles",
    "RoleBinding": "rolebindings",
    "ClusterRoleBinding": "clusterrolebindings",
}
_COLLECTOR_FIELDS = ("ownerReferences", "finalizers", "managedFields", "selfLink")


class _Write(Struct, frozen=True):
    """Who writes which resource where, by which policy."""

    policy: Policy
    user: User
    namespace: str
    resource: str

    def may(self, verb: str, resource: str, name: str) -> bool:
        return self.policy.decide(self.user, Attributes(verb, GROUP, resource, "", self.namespace, name)).allowed

    def lacks(self, wanted: Iterable[Rule]) -> str:
        """Which of the rights the writer does not have, in words; empty when there is none."""
        held = self.policy.rules_for(self.user, self.namespace)
        missing = find_missing(held.rules, wanted)
        if not missing:
            return ""
        who = f"user {go_quote(self.user.name)} (groups={quote_list(self.user.groups)})"
        lines = sorted({str(rule) for rule in compact(missing)})
        text = f"{who} is attempting to grant RBAC permissions not currently held:\n" + "\n".join(lines)
        if held.missing:
            # kube-apiserver looks roles up in the name of the request, so it names the resource being written.
            problems = [f"{self.resource}.{GROUP} {go_quote(role.name)} not found" for role in held.missing]
            text += f"; resolution errors: [{join_problems(problems)}]"
        return text


def decide_write(
    policy: Policy, user: User, namespace: str, new: JsonObject, old: JsonObject | None = None
) -> RefusedError | None:
    """Why the user must not write this role or binding; None when there is nothing against it.

    ``namespace`` is the request's, ``new`` the object as it would be stored, ``old`` the stored one of an update.
    """
    if old is not None and _is_only_for_collector(new, old):
        return None
    write = _Write(policy, user, namespace, _RESOURCES[new["kind"]])
    if new["kind"] in ("Role", "ClusterRole"):
        return _decide_role(write, new, old)
    return _decide_binding(write, new)


def _decide_role(write: _Write, new: JsonObject, old: JsonObject | None) -> RefusedError | None:
    name = _name(new)
    # A create names no object in its URL, so a rule with names cannot allow it.
    if write.may("escalate", write.resource, name if old is not None else ""):
        return None
    if lacking := write.lacks(read_rules(new.get("rules"))):
        return forbidden(write.resource, GROUP, name, lacking)
    collects = is_aggregated(new) or (old is not None and is_aggregated(old))
    if collects and write.lacks(_FULL_AUTHORITY):
        why = "must have cluster-admin privileges to use the aggregationRule"
        return forbidden(write.resource, GROUP, name, why)
    return None


def _decide_binding(write: _Write, new: JsonObject) -> RefusedError | None:
    role = read_role_ref(new)
    if write.may("bind", _RESOURCES.get(role.kind, ""), role.name):
        return None
    rules = write.policy.role_rules(role, write.namespace)
    if rules is None:
        return not_found(write.resource, GROUP, role.name)  # the binding's resource, as above
    if lacking := write.lacks(rules):
        return forbidden(write.resource, GROUP, _name(new), lacking)
    return None


def _is_only_for_collector(new: JsonObject, old: JsonObject) -> bool:
    return _without_collector_fields(new) == _without_collector_fields(old)


def _without_collector_fields(tree: JsonObject) -> dict[str, Any]:
    metadata = {key: value for key, value in tree["metadata"].items() if key not in _COLLECTOR_FIELDS}
    return {**tree, "metadata": metadata}


def _name(tree: JsonObject) -> str:
    return str(tree["metadata"].get("name") or "")
