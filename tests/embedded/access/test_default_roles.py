"""The roles a cluster begins with: what each kind of user can and cannot do."""

import pytest

from embedded.access.rbac_objects import binding, cluster_binding, user, user_subject, wants
from heliostat.embedded.access.aggregation import plan_aggregation
from heliostat.embedded.access.default_roles import build_default_objects, plan_defaults
from heliostat.embedded.access.rbac import Policy
from heliostat.embedded.access.users import ANONYMOUS, User
from heliostat.kube.jsontree import JsonObject

SOMEBODY = user("somebody", "system:authenticated")
BOUND = (
    binding("team", "v", "ClusterRole/view", user_subject("viewer")),
    binding("team", "e", "ClusterRole/edit", user_subject("editor")),
    binding("team", "a", "ClusterRole/admin", user_subject("chief")),
    cluster_binding("m", "system:auth-delegator", user_subject("delegate")),
)

ROWS: list[tuple[User, str, bool]] = [
    (ANONYMOUS, "get /version", True),
    (ANONYMOUS, "get /healthz", True),
    (ANONYMOUS, "get /readyz", True),
    (ANONYMOUS, "get /metrics", False),
    (ANONYMOUS, "get /api", False),
    (ANONYMOUS, "create selfsubjectaccessreviews.authorization.k8s.io", False),
    (SOMEBODY, "get /apis/ray.io/v1", True),
    (SOMEBODY, "get /openapi/v3", True),
    (SOMEBODY, "create selfsubjectaccessreviews.authorization.k8s.io", True),
    (SOMEBODY, "create selfsubjectreviews.authentication.k8s.io", True),
    (SOMEBODY, "create subjectaccessreviews.authorization.k8s.io", False),
    (SOMEBODY, "create tokenreviews.authentication.k8s.io", False),
    (SOMEBODY, "get pods in team", False),
    (SOMEBODY, "get /metrics", False),
    (user("prometheus", "system:monitoring"), "get /metrics", True),
    (user("system:serviceaccount:t:x", "system:serviceaccounts"), "get /openid/v1/jwks", True),
    (user("viewer"), "list pods in team", True),
    (user("viewer"), "get pods/log in team", True),
    (user("viewer"), "get secrets in team", False),
    (user("viewer"), "create pods in team", False),
    (user("viewer"), "get roles.rbac.authorization.k8s.io in team", False),
    (user("viewer"), "list pods in other", False),
    (user("editor"), "create pods in team", True),
    (user("editor"), "get secrets in team", True),
    (user("editor"), "list pods in team", True),  # what view may, edit may
    (user("editor"), "create pods/exec in team", True),
    (user("editor"), "create serviceaccounts/token in team", True),
    (user("editor"), "create rolebindings.rbac.authorization.k8s.io in team", False),
    (user("editor"), "update resourcequotas in team", False),
    (user("chief"), "create rolebindings.rbac.authorization.k8s.io in team", True),
    (user("chief"), "create pods in team", True),
    (user("chief"), "list pods in team", True),
    (user("chief"), "update resourcequotas in team", False),
    (user("chief"), "get nodes", False),
    (user("delegate"), "create tokenreviews.authentication.k8s.io", True),
    (user("root", "system:masters"), "delete nodes", True),
    (user("system:kube-scheduler"), "create pods/binding in team", True),
    (user("system:kube-scheduler"), "create pods in team", False),
]


@pytest.mark.parametrize(("who", "request_text", "allowed"), ROWS)
def test_the_defaults_allow_what_the_table_says(who: User, request_text: str, allowed: bool) -> None:
    policy = Policy([*build_default_objects(), *BOUND])
    assert policy.decide(who, wants(request_text)).allowed is allowed


def by_place(objects: list[JsonObject]) -> dict[tuple[str, str], JsonObject]:
    return {(tree["kind"], tree["metadata"]["name"]): tree for tree in objects}


def test_collected_roles_are_complete_from_the_start() -> None:
    roles = {name: tree for (kind, name), tree in by_place(build_default_objects()).items() if kind == "ClusterRole"}
    assert plan_aggregation(roles) == {}
    assert [len(roles[name]["rules"]) for name in ("admin", "edit", "view")] == [27, 25, 11]


def test_a_role_of_a_crd_joins_by_its_label() -> None:
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    crd = {
        "kind": "ClusterRole",
        "metadata": {"name": "rays", "labels": label},
        "rules": [{"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get"]}],
    }
    policy = Policy([*build_default_objects(), *BOUND, crd])
    for who in ("viewer", "editor", "chief"):
        assert policy.decide(user(who), wants("get rayclusters.ray.io in team")).allowed


def test_a_fresh_cluster_gets_everything_and_a_complete_one_nothing() -> None:
    everything = build_default_objects()
    assert plan_defaults({}) == everything
    assert plan_defaults(by_place(everything)) == []


def test_what_is_missing_is_added_and_what_is_more_stays() -> None:
    present = by_place(build_default_objects())
    own = {"apiGroups": ["x"], "resources": ["y"], "verbs": ["z"]}
    basic = present["ClusterRole", "system:basic-user"]
    taken, basic["rules"] = basic["rules"][1], [basic["rules"][0], own]
    shown = present["ClusterRoleBinding", "system:public-info-viewer"]
    shown["subjects"] = [{"kind": "Group", "name": "mine"}, shown["subjects"][0]]
    del present["ClusterRole", "view"]
    changes = by_place(plan_defaults(present))
    assert changes.keys() == {
        ("ClusterRole", "system:basic-user"),
        ("ClusterRole", "view"),
        ("ClusterRoleBinding", "system:public-info-viewer"),
    }
    assert changes["ClusterRole", "system:basic-user"]["rules"] == [*basic["rules"], taken]
    subjects = changes["ClusterRoleBinding", "system:public-info-viewer"]["subjects"]
    assert [subject["name"] for subject in subjects] == ["mine", "system:authenticated", "system:unauthenticated"]


def test_an_object_marked_to_be_left_alone_is_left_alone() -> None:
    present = by_place(build_default_objects())
    shown = present["ClusterRoleBinding", "system:public-info-viewer"]
    shown["subjects"] = []
    shown["metadata"]["annotations"] = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    assert plan_defaults(present) == []
