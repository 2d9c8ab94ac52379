"""Decisions over roles and bindings, as they change."""

import pytest

from embedded.access.rbac_objects import (
    account_subject,
    binding,
    cluster_binding,
    cluster_role,
    group_subject,
    path_rule,
    role,
    rule,
    user,
    user_subject,
    wants,
)
from heliostat.embedded.access.attributes import build_forbidden
from heliostat.embedded.access.rbac import REMEMBERED, Policy
from heliostat.embedded.access.users import User
from heliostat.kube.jsontree import JsonObject

READ_PODS = rule("get list", "", "pods")
ROBOT = user("system:serviceaccount:team:robot", "system:serviceaccounts", "system:serviceaccounts:team")

POLICY = (
    cluster_role("reader", READ_PODS, path_rule("get", "/healthz")),
    cluster_role("scaler", rule("update", "apps", "*/scale")),
    role("team", "writer", rule("create", "", "pods configmaps")),
    role("team", "one-secret", rule("get", "", "secrets", "mine")),
    cluster_binding("everywhere", "reader", user_subject("ann"), group_subject("ops")),
    cluster_binding("robots", "scaler", account_subject("robot", "team")),
    cluster_binding("no-namespace", "reader", account_subject("lost")),
    binding("team", "here", "ClusterRole/reader", user_subject("ben")),
    binding("team", "write", "Role/writer", group_subject("devs"), account_subject("robot")),
    binding("team", "secret", "Role/one-secret", user_subject("ben")),
    binding("other", "same-name", "Role/writer", user_subject("ben")),
    binding("other", "as-user", "ClusterRole/reader", user_subject("system:serviceaccount:team:robot")),
)

# who, wants, name, verdict
ROWS: list[tuple[User, str, str, bool]] = [
    (user("ann"), "get pods in team", "", True),
    (user("ann"), "get pods in other", "", True),
    (user("ann"), "list pods", "", True),
    (user("ann"), "delete pods in team", "", False),
    (user("ann"), "get /healthz", "", True),
    (user("ann"), "get /metrics", "", False),
    (user("x", "ops"), "get pods", "", True),
    (user("ops"), "get pods", "", False),  # a user of a group's name is not the group
    (user("x", "ann"), "get pods", "", False),  # nor a group of a user's name the user
    (user("ben"), "get pods in team", "", True),
    (user("ben"), "get pods in other", "", False),
    (user("ben"), "list pods", "", False),  # a namespace's binding does not open the cluster
    (user("ben"), "get /healthz in team", "", False),  # nor paths
    (user("ben"), "get secrets in team", "mine", True),
    (user("ben"), "get secrets in team", "yours", False),
    (user("ben"), "list secrets in team", "", False),
    (user("ben"), "create pods in other", "", False),  # a Role of another namespace is another role
    (user("x", "devs"), "create configmaps in team", "", True),
    (user("x", "devs"), "create configmaps in other", "", False),
    (user("x", "devs"), "create configmaps", "", False),
    (ROBOT, "update deployments/scale.apps in team", "", True),
    (ROBOT, "update deployments/scale.apps", "", True),
    (ROBOT, "update deployments.apps in team", "", False),
    (ROBOT, "create pods in team", "", True),  # the binding's own namespace
    (ROBOT, "get pods in other", "", True),  # bound as a user of that name
    (ROBOT, "get pods in team", "", False),
    (user("system:serviceaccount:other:robot"), "create pods in team", "", False),
    (user("system:serviceaccount::lost"), "get pods", "", False),
    (user("lost"), "get pods", "", False),
    (user("nobody"), "get pods in team", "", False),
    (user("nobody", "system:masters"), "delete nodes", "", True),
    (user("nobody", "system:masters"), "post /anything", "", True),
    (user("system:masters"), "get pods", "", False),
]


@pytest.mark.parametrize(("who", "request_text", "name", "allowed"), ROWS)
def test_decision_is_as_the_table_says(who: User, request_text: str, name: str, allowed: bool) -> None:
    assert Policy(POLICY).decide(who, wants(request_text, name)).allowed is allowed


@pytest.mark.parametrize(
    ("who", "request_text", "reason"),
    [
        (
            user("ann"),
            "get pods",
            'RBAC: allowed by ClusterRoleBinding "everywhere" of ClusterRole "reader" to User "ann"',
        ),
        (
            user("x", "a", "ops"),
            "get pods in team",
            'RBAC: allowed by ClusterRoleBinding "everywhere" of ClusterRole "reader" to Group "ops"',
        ),
        (
            ROBOT,
            "create pods in team",
            'RBAC: allowed by RoleBinding "write/team" of Role "writer" to ServiceAccount "robot/team"',
        ),
        (user("x"), "get pods", ""),
        (user("x", "system:masters"), "get pods", ""),
    ],
)
def test_the_reason_names_the_binding(who: User, request_text: str, reason: str) -> None:
    assert Policy(POLICY).decide(who, wants(request_text)).reason == reason


def test_a_namespaces_role_does_not_open_cluster_scoped_objects() -> None:
    """CVE-2019-11247: the cluster's objects asked for through a namespace. The path decides the scope, not the role."""
    policy = Policy([role("team", "r", rule("*", "*", "*")), binding("team", "b", "Role/r", user_subject("ben"))])
    for wanted in (
        "get nodes",
        "list rayclusters.ray.io",
        "get clusterroles.rbac.authorization.k8s.io",
        "get /metrics",
    ):
        assert not policy.decide(user("ben"), wants(wanted)).allowed
    assert policy.decide(user("ben"), wants("get rayclusters.ray.io in team")).allowed


def test_the_reason_names_the_first_subject_that_means_the_user() -> None:
    both = cluster_binding("b", "reader", user_subject("other"), group_subject("ops"), user_subject("ann"))
    policy = Policy([cluster_role("reader", READ_PODS), both])
    assert policy.decide(user("ann", "ops"), wants("get pods")).reason.endswith('to Group "ops"')


def test_a_binding_that_leads_nowhere_allows_nothing_and_is_named() -> None:
    policy = Policy(
        [
            cluster_binding("a", "nowhere", user_subject("ann")),
            cluster_binding("b", "nowhere", user_subject("ann")),
            binding("t", "c", "Role/gone", user_subject("ann")),
        ]
    )
    missing = 'clusterrole.rbac.authorization.k8s.io "nowhere" not found'
    assert policy.decide(user("ann"), wants("get pods")).reason == f"RBAC: {missing}"
    here = policy.decide(user("ann"), wants("get pods in t"))
    assert here.reason == f'RBAC: [{missing}, role.rbac.authorization.k8s.io "gone" not found]'
    assert not here.allowed


def test_a_dangling_binding_does_not_hide_one_that_holds() -> None:
    policy = Policy([*POLICY, cluster_binding("a-first", "nowhere", user_subject("ann"))])
    assert policy.decide(user("ann"), wants("get pods")).allowed


# What changes, and whether Ann may get pods afterwards.
STEPS: list[tuple[JsonObject | tuple[str, str], bool]] = [
    (cluster_binding("b", "reader", user_subject("ann")), False),
    (cluster_role("reader", READ_PODS), True),
    (cluster_role("reader", rule("create", "", "pods")), False),
    (cluster_role("reader", READ_PODS), True),
    (cluster_binding("b", "reader", user_subject("ben")), False),
    (cluster_binding("b2", "reader", user_subject("ann")), True),
    (("ClusterRoleBinding", "b2"), False),
    (cluster_binding("b2", "reader", user_subject("ann")), True),
    (("ClusterRole", "reader"), False),
]


def test_every_change_counts_at_once() -> None:
    policy = Policy()
    for change, allowed in STEPS:
        before = policy.revision
        if isinstance(change, dict):
            policy.put(change)
        else:
            policy.remove(change[0], "", change[1])
        assert policy.decide(user("ann"), wants("get pods")).allowed is allowed
        assert policy.revision > before


def test_removing_what_never_was_changes_nothing() -> None:
    policy = Policy(POLICY)
    for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"):
        policy.remove(kind, "team", "never")
    assert policy.decide(user("ann"), wants("get pods")).allowed


def test_objects_of_other_kinds_are_nothing_to_it() -> None:
    policy = Policy([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team"}}])
    assert not policy.decide(user("ann"), wants("get pods")).allowed


def test_more_questions_than_are_remembered_get_right_answers() -> None:
    policy = Policy(POLICY)
    names = [f"p{number}" for number in range(REMEMBERED + 10)]
    assert all(policy.decide(user("ann"), wants("get pods in team", name)).allowed for name in names)
    assert not any(policy.decide(user("cid"), wants("get pods in team", name)).allowed for name in names[:20])


def test_rules_for_lists_the_clusters_then_the_namespaces_and_what_is_missing() -> None:
    policy = Policy([*POLICY, binding("team", "zz", "Role/gone", user_subject("ben"))])
    found = policy.rules_for(user("ben", "ops"), "team")
    assert [rule.resources or rule.paths for rule in found.rules] == [
        ("pods",),
        ("/healthz",),
        ("pods",),
        ("/healthz",),
        ("secrets",),
    ]
    everywhere = policy.rules_for(user("ben", "ops"), "")
    assert [rule.resources or rule.paths for rule in everywhere.rules] == [("pods",), ("/healthz",)]
    assert [ref.not_found for ref in found.missing] == ['role.rbac.authorization.k8s.io "gone" not found']


# What kube-apiserver 1.34 answers to the same requests.
FORBIDDEN = [
    (
        "list pods in y",
        "",
        'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "y"',
        {"kind": "pods"},
    ),
    (
        "list pods",
        "",
        'pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope',
        {"kind": "pods"},
    ),
    (
        "get pods/log in y",
        "p",
        'pods "p" is forbidden: User "bob" cannot get resource "pods/log" in API group "" in the namespace "y"',
        {"name": "p", "kind": "pods"},
    ),
    (
        "get jobs.apps in y",
        "<b>",
        'jobs.apps "<b>" is forbidden: User "bob" cannot get resource "jobs" in API group "apps" in the namespace "y"',
        {"name": "<b>", "group": "apps", "kind": "jobs"},
    ),
    ("get /metrics", "", 'forbidden: User "bob" cannot get path "/metrics"', {}),
]


@pytest.mark.parametrize(("request_text", "name", "message", "details"), FORBIDDEN)
def test_a_refusal_says_what_kube_apiserver_says(
    request_text: str, name: str, message: str, details: dict[str, str]
) -> None:
    refusal = build_forbidden(user("bob"), wants(request_text, name))
    assert (refusal.code, refusal.reason, refusal.message) == (403, "Forbidden", message)
    assert refusal.details == details


def test_names_in_a_refusal_cannot_become_a_page() -> None:
    refusal = build_forbidden(user("<script>&"), wants("get pods"), "RBAC: why")
    assert 'User "&lt;script&gt;&amp;" cannot' in refusal.message
    assert refusal.message.endswith("at the cluster scope: RBAC: why")
