"""What may be written to roles and bindings. The messages are those kube-apiserver 1.34 gave to the same requests."""

import pytest

from embedded.access.rbac_objects import (
    GROUP,
    binding,
    cluster_binding,
    cluster_role,
    path_rule,
    role,
    rule,
    user_subject,
    wants,
)
from heliostat.embedded.access.escalation import decide_write
from heliostat.embedded.access.rbac import Policy
from heliostat.embedded.access.users import User
from heliostat.embedded.refusals import RefusedError
from heliostat.kube.jsontree import JsonObject

BOB = User("bob", groups=("team", "system:authenticated"))
LACKS = (
    'user "bob" (groups=["team" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:'
)
HELD = cluster_role(
    "writer",
    rule("create update", GROUP, "roles rolebindings clusterroles clusterrolebindings"),
    rule("get list", "", "pods"),
    rule("update", "apps", "*/scale"),
    rule("get", "", "secrets", "one two"),
    path_rule("get", "/a/*"),
)
BASE = (HELD, cluster_binding("bob-writer", "writer", user_subject("bob")))
ADMIN = cluster_role("cluster-admin", rule("*", "*", "*"), path_rule("*", "*"))
COLLECT = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}


def decide(new: JsonObject, *more: JsonObject, old: JsonObject | None = None, who: User = BOB) -> RefusedError | None:
    return decide_write(Policy([*BASE, ADMIN, *more]), who, new["metadata"].get("namespace", ""), new, old)


def message(refusal: RefusedError | None) -> str:
    assert refusal is not None
    return refusal.message


ROLE_ROWS: list[tuple[list[JsonObject], list[str]]] = [
    ([rule("get", "", "pods")], []),
    ([], []),
    ([rule("get", "", "secrets", "one")], []),
    ([rule("update", "apps", "deployments/scale */scale")], []),
    ([path_rule("get", "/a/b /a/*")], []),
    (
        [rule("get list watch", "", "pods services")],
        [
            '{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}',
            '{APIGroups:[""], Resources:["services"], Verbs:["get" "list" "watch"]}',
        ],
    ),
    (
        [rule("update", ",apps", "deployments/scale pods")],
        [
            '{APIGroups:[""], Resources:["deployments/scale"], Verbs:["update"]}',
            '{APIGroups:[""], Resources:["pods"], Verbs:["update"]}',
            '{APIGroups:["apps"], Resources:["pods"], Verbs:["update"]}',
        ],
    ),
    ([rule("get", "", "secrets")], ['{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}']),
    (
        [rule("get", "", "secrets", "one three")],
        ['{APIGroups:[""], Resources:["secrets"], ResourceNames:["three"], Verbs:["get"]}'],
    ),
    (
        [path_rule("get put", "/a/b /b /c/*")],
        [
            '{NonResourceURLs:["/a/b"], Verbs:["put"]}',
            '{NonResourceURLs:["/b"], Verbs:["get"]}',
            '{NonResourceURLs:["/b"], Verbs:["put"]}',
            '{NonResourceURLs:["/c/*"], Verbs:["get"]}',
            '{NonResourceURLs:["/c/*"], Verbs:["put"]}',
        ],
    ),
    ([rule("*", "*", "*")], ['{APIGroups:["*"], Resources:["*"], Verbs:["*"]}']),
    ([rule("*", "", "pods")], ['{APIGroups:[""], Resources:["pods"], Verbs:["*"]}']),
    ([rule("update", "*", "*/scale")], ['{APIGroups:["*"], Resources:["*/scale"], Verbs:["update"]}']),
]


@pytest.mark.parametrize(("rules", "lacking"), ROLE_ROWS)
def test_a_role_may_hold_only_what_its_writer_holds(rules: list[JsonObject], lacking: list[str]) -> None:
    refusal = decide(cluster_role("r", *rules))
    if not lacking:
        assert refusal is None
        return
    said = "\n".join([f'clusterroles.{GROUP} "r" is forbidden: {LACKS}', *lacking])
    assert message(refusal) == said
    assert refusal is not None
    assert (refusal.code, refusal.reason) == (403, "Forbidden")
    assert refusal.details == {"name": "r", "group": GROUP, "kind": "clusterroles"}


def test_an_update_is_judged_by_what_it_would_leave() -> None:
    old = cluster_role("r", rule("get delete", "", "pods"))
    assert decide(cluster_role("r", rule("get", "", "pods")), old=old) is None
    refused = decide(cluster_role("r", rule("get delete", "", "pods"), labels={"x": "y"}), old=old)
    assert 'Verbs:["delete"]' in message(refused)


def test_a_change_of_owners_or_finalizers_passes_whatever_the_role_holds() -> None:
    old = cluster_role("r", rule("*", "*", "*"))
    new = {**old, "metadata": {**old["metadata"], "finalizers": ["x"], "ownerReferences": [{"uid": "u"}]}}
    assert decide(new, old=old) is None


def test_rights_in_a_namespace_count_there_only() -> None:
    here = (
        role("t", "deleter", rule("delete", "", "pods")),
        binding("t", "bob-deleter", "Role/deleter", user_subject("bob")),
    )
    assert decide(role("t", "r", rule("delete", "", "pods")), *here) is None
    assert "roles.rbac.authorization.k8s.io" in message(decide(role("u", "r", rule("delete", "", "pods")), *here))
    assert 'Verbs:["delete"]' in message(decide(cluster_role("r", rule("delete", "", "pods")), *here))


def test_escalate_lifts_the_limit_for_roles() -> None:
    may = (
        cluster_role("escalator", rule("escalate", GROUP, "clusterroles")),
        cluster_binding("e", "escalator", user_subject("bob")),
    )
    assert decide(cluster_role("r", rule("*", "*", "*")), *may) is None
    assert decide(role("t", "r", rule("*", "*", "*")), *may) is not None


def test_escalate_by_name_counts_for_updates_only() -> None:
    may = (
        cluster_role("escalator", rule("escalate", GROUP, "clusterroles", "r")),
        cluster_binding("e", "escalator", user_subject("bob")),
    )
    big = cluster_role("r", rule("*", "*", "*"))
    assert decide(big, *may) is not None
    assert decide(big, *may, old=cluster_role("r")) is None
    other = cluster_role("other", rule("*", "*", "*"))
    assert decide(other, *may, old=cluster_role("other")) is not None


@pytest.mark.parametrize("old", [None, cluster_role("r"), cluster_role("r", aggregationRule=COLLECT)])
def test_collecting_roles_needs_all_rights(old: JsonObject | None) -> None:
    said = f'clusterroles.{GROUP} "r" is forbidden: must have cluster-admin privileges to use the aggregationRule'
    new = cluster_role("r", labels={"changed": "yes"}, aggregationRule=COLLECT)
    assert message(decide(new, old=old)) == said
    everything = cluster_binding("all", "cluster-admin", user_subject("bob"))
    assert decide(new, everything, old=old) is None


def test_taking_the_aggregation_away_needs_all_rights_too() -> None:
    old = cluster_role("r", aggregationRule=COLLECT)
    assert "cluster-admin privileges" in message(decide(cluster_role("r"), old=old))


def test_a_binding_may_name_only_a_role_whose_rights_its_writer_has() -> None:
    assert decide(cluster_binding("b", "writer", user_subject("eve"))) is None
    lines = ['{APIGroups:["*"], Resources:["*"], Verbs:["*"]}', '{NonResourceURLs:["*"], Verbs:["*"]}']
    said = "\n".join([f'rolebindings.{GROUP} "b" is forbidden: {LACKS}', *lines])
    assert message(decide(binding("t", "b", "ClusterRole/cluster-admin", user_subject("eve")))) == said


def test_bind_lifts_the_limit_for_that_role_in_that_place() -> None:
    may = (
        role("t", "binder", rule("bind", GROUP, "clusterroles", "cluster-admin")),
        binding("t", "bob-binder", "Role/binder", user_subject("bob")),
    )
    assert decide(binding("t", "b", "ClusterRole/cluster-admin"), *may) is None
    assert decide(binding("u", "b", "ClusterRole/cluster-admin"), *may) is not None
    assert decide(cluster_binding("b", "cluster-admin"), *may) is not None
    assert (
        decide(binding("t", "b", "ClusterRole/other"), *may, cluster_role("other", rule("*", "", "pods"))) is not None
    )


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (cluster_binding("b", "nowhere"), f'clusterrolebindings.{GROUP} "nowhere" not found'),
        (binding("t", "b", "Role/nowhere"), f'rolebindings.{GROUP} "nowhere" not found'),
    ],
)
def test_a_binding_to_no_role_is_not_found(new: JsonObject, said: str) -> None:
    refusal = decide(new)
    assert message(refusal) == said
    assert refusal is not None
    assert (refusal.code, refusal.reason) == (404, "NotFound")


def test_masters_may_write_everything() -> None:
    root = User("root", groups=("system:masters",))
    assert decide(cluster_role("r", rule("*", "*", "*"), aggregationRule=COLLECT), who=root) is None
    assert decide(cluster_binding("b", "nowhere"), who=root) is None


def test_bindings_that_lead_nowhere_are_told() -> None:
    lost = (
        cluster_binding("adm-nowhere", "nowhere", user_subject("bob")),
        binding("t", "adm-nowhere2", "Role/nowhere2", user_subject("bob")),
    )
    said = message(decide(role("t", "r12", rule("delete", "", "pods")), *lost))
    tail = f'[[roles.{GROUP} "nowhere" not found, roles.{GROUP} "nowhere2" not found]]'
    assert said.endswith(f"; resolution errors: {tail}")
    said = message(decide(cluster_role("r13", rule("delete", "", "pods")), *lost))
    assert said.endswith(f'; resolution errors: [clusterroles.{GROUP} "nowhere" not found]')


def test_a_refused_write_really_would_have_given_more() -> None:
    """The point of it all: with the refused role bound, Bob could do what he cannot do now."""
    assert decide(cluster_role("more", rule("delete", "", "pods"))) is not None
    policy = Policy([*BASE])
    assert not policy.decide(BOB, wants("delete pods")).allowed
    policy.put(cluster_role("more", rule("delete", "", "pods")))
    policy.put(cluster_binding("more", "more", user_subject("bob")))
    assert policy.decide(BOB, wants("delete pods")).allowed
