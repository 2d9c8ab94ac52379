"""The authorizer: may this user do that, by the Roles and bindings that exist.

Rules: rules only add up, there is no denial; a ClusterRoleBinding counts everywhere, a RoleBinding in its namespace; a
binding to a role that is not there allows nothing and is named in the reason; members of ``system:masters`` may do
everything. Bindings are indexed by subject and decisions remembered until the policy changes, so that the cost does not
grow with the number of bindings. Objects are expected to be valid; no store is read here.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.access.aggregation import collect_rules
from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.bindings import Binding, RoleRef, read_binding
from heliostat.embedded.access.policy_rules import Rule, read_rules
from heliostat.embedded.access.users import MASTERS, User
from heliostat.kube.jsontree import JsonObject

REMEMBERED = 8192  # decisions
KINDS = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
_Place: TypeAlias = tuple[str, str]  # namespace (empty for the cluster) and name
_Account: TypeAlias = tuple[str, str]  # User or Group, and its name
_Question: TypeAlias = tuple[str, tuple[str, ...], Attributes]


class Decision(Struct, frozen=True):
    allowed: bool
    reason: str = ""


class RulesFound(Struct, frozen=True):
    rules: tuple[Rule, ...]
    missing: tuple[RoleRef, ...] = ()  # roles that bindings name and that are not there


_MASTER = Decision(allowed=True)


class Policy:
    """Roles and bindings as they are now. ``put`` and ``remove`` follow the store; everything else only asks."""

    def __init__(self, objects: Iterable[JsonObject] = ()) -> None:
        self.revision = 0  # changes whenever an answer may have changed
        self._roles: dict[_Place, tuple[Rule, ...]] = {}
        self._cluster_roles: dict[str, JsonObject] = {}
        self._collected: dict[str, tuple[Rule, ...]] = {}  # rules of cluster roles, as far as asked for
        self._bindings: dict[_Place, Binding] = {}
        self._by_account: dict[_Account, dict[str, dict[str, Binding]]] = {}  # then by namespace, then by name
        self._decisions: dict[_Question, Decision] = {}
        for tree in objects:
            self.put(tree)

    def put(self, tree: JsonObject) -> None:
        """The object was created or changed."""
        kind, place = tree["kind"], _place(tree)
        self.remove(kind, *place)
        if kind == "Role":
            self._roles[place] = read_rules(tree.get("rules"))
        elif kind == "ClusterRole":
            self._cluster_roles[place[1]] = tree
        elif kind in KINDS:
            self._index(place, read_binding(tree))

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """The object is gone; harmless when it never was there."""
        self.revision += 1
        self._decisions.clear()
        if kind == "Role":
            self._roles.pop((namespace, name), None)
        elif kind == "ClusterRole":
            self._collected.clear()
            self._cluster_roles.pop(name, None)
        elif kind in KINDS:
            self._forget((namespace, name))

    def decide(self, user: User, request: Attributes) -> Decision:
        if MASTERS in user.groups:
            return _MASTER
        question = (user.name, user.groups, request)
        decision = self._decisions.get(question)
        if decision is None:
            if len(self._decisions) >= REMEMBERED:
                self._decisions.clear()
            decision = self._decisions[question] = self._judge(user, request)
        return decision

    def rules_for(self, user: User, namespace: str) -> RulesFound:
        """Every rule that counts for the user in the namespace (empty: everywhere)."""
        rules: list[Rule] = []
        missing: list[RoleRef] = []
        for binding in self._bindings_of(user, namespace):
            found = self.role_rules(binding.role, binding.namespace)
            if found is None:
                missing.append(binding.role)
            else:
                rules += found
        return RulesFound(tuple(rules), tuple(missing))

    def role_rules(self, role: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """The rules of a role that a binding in ``namespace`` names; None when there is no such role."""
        if role.kind == "Role":
            return self._roles.get((namespace, role.name))
        if role.kind != "ClusterRole" or role.name not in self._cluster_roles:
            return None
        rules = self._collected.get(role.name)
        if rules is None:
            trees = collect_rules(self._cluster_roles[role.name], self._cluster_roles)
            rules = self._collected[role.name] = read_rules(trees)
        return rules

    def _judge(self, user: User, request: Attributes) -> Decision:
        problems: list[str] = []
        for binding in self._bindings_of(user, request.namespace):
            rules = self.role_rules(binding.role, binding.namespace)
            if rules is None:
                problems.append(binding.role.not_found)
            elif any(rule.allows(request) for rule in rules):
                return Decision(allowed=True, reason=f"RBAC: allowed by {_describe(binding, user)}")
        return Decision(allowed=False, reason=f"RBAC: {join_problems(problems)}" if problems else "")

    def _bindings_of(self, user: User, namespace: str) -> Iterator[Binding]:
        """Each binding that names the user or one of its groups, once, by name: the cluster's, then the namespace's."""
        for place in ("", namespace) if namespace else ("",):
            found: dict[str, Binding] = {}
            for account in _accounts(user):
                found |= self._by_account.get(account, {}).get(place, {})
            for name in sorted(found):
                yield found[name]

    def _index(self, place: _Place, binding: Binding) -> None:
        self._bindings[place] = binding
        for subject in binding.subjects:
            if subject.account is not None:
                self._by_account.setdefault(subject.account, {}).setdefault(place[0], {})[place[1]] = binding

    def _forget(self, place: _Place) -> None:
        binding = self._bindings.pop(place, None)
        if binding is None:
            return
        for account in {subject.account for subject in binding.subjects if subject.account is not None}:
            namespaces = self._by_account[account]
            del namespaces[place[0]][place[1]]
            if not namespaces[place[0]]:
                del namespaces[place[0]]
            if not namespaces:
                del self._by_account[account]


def join_problems(problems: Iterable[str]) -> str:
    single = list(dict.fromkeys(problems))
    return single[0] if len(single) == 1 else f"[{', '.join(single)}]"


def _place(tree: JsonObject) -> _Place:
    metadata = tree["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def _accounts(user: User) -> Iterator[_Account]:
    yield "User", user.name
    for group in user.groups:
        yield "Group", group


def _describe(binding: Binding, user: User) -> str:
    """With the first of the binding's subjects that means the user."""
    accounts = set(_accounts(user))
    return binding.describe(next(subject for subject in binding.subjects if subject.account in accounts))
