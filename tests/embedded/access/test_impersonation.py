"""Acting as somebody else, as a real kube-apiserver 1.34 answers the same headers."""

from collections.abc import Iterable

import pytest

from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.impersonation import Wishes, impersonate, read_wishes
from heliostat.embedded.access.rbac import Decision, Policy
from heliostat.embedded.access.users import User, build_authenticated
from heliostat.embedded.refusals import RefusedError

ADMIN = build_authenticated("admin", ["system:masters"], uid="admin")
LIM = build_authenticated("lim")
URI = "/api/v1/pods?x=<a>"

USER, GROUP, UID = "impersonate-user", "impersonate-group", "impersonate-uid"
Headers = list[tuple[str, str]]


def limited_policy() -> Policy:
    """Lim may act as zed, as a ServiceAccount bot anywhere, and with one value of one extra."""
    authentication = "authentication.k8s.io"
    asked = (("", "users", "zed"), ("", "serviceaccounts", "bot"), (authentication, "userextras/scopes", "ok"))
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": ["impersonate"], "resourceNames": [name]}
        for group, resource, name in asked
    ]
    role = {"kind": "ClusterRole", "metadata": {"name": "imp"}, "rules": rules}
    binding = {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "imp"},
        "subjects": [{"kind": "User", "name": "lim", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"kind": "ClusterRole", "name": "imp", "apiGroup": "rbac.authorization.k8s.io"},
    }
    return Policy([role, binding])


def become(user: User, headers: Iterable[tuple[str, str]]) -> User:
    found = impersonate(user, headers, limited_policy().decide, URI)
    assert isinstance(found, User), found
    return found


def refusal(user: User, headers: Iterable[tuple[str, str]]) -> RefusedError:
    found = impersonate(user, headers, limited_policy().decide, URI)
    assert isinstance(found, RefusedError)
    return found


EVERYTHING: Headers = [
    (USER, "zed"),
    (GROUP, "a"),
    (GROUP, "b"),
    (UID, "7"),
    ("impersonate-extra-scopes", "x"),
    ("impersonate-extra-scopes", "y"),
    ("impersonate-extra-acme.com%2fproject", "p"),
    ("impersonate-extra-bad%zz", "q"),
    ("impersonate-extra-", "e"),
]
ACCOUNT = "system:serviceaccount:default:bot"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(USER, "zed")], User("zed", groups=("system:authenticated",))),
        ([(USER, "zed"), (USER, "second")], User("zed", groups=("system:authenticated",))),
        (
            EVERYTHING,
            User(
                "zed",
                "7",
                ("a", "b", "system:authenticated"),
                {"scopes": ("x", "y"), "acme.com/project": ("p",), "bad%zz": ("q",), "": ("e",)},
            ),
        ),
        (
            [(USER, "zed"), (GROUP, "system:authenticated"), (GROUP, "a")],
            User("zed", groups=("system:authenticated", "a")),
        ),
        ([(USER, "zed"), (GROUP, "system:unauthenticated")], User("zed", groups=("system:unauthenticated",))),
        ([(USER, "zed"), (GROUP, "")], User("zed", groups=("", "system:authenticated"))),
        ([(USER, "system:anonymous")], User("system:anonymous", groups=("system:unauthenticated",))),
        (
            [(USER, "system:anonymous"), (GROUP, "system:authenticated")],
            User("system:anonymous", groups=("system:authenticated", "system:unauthenticated")),
        ),
        (
            [(USER, ACCOUNT)],
            User(ACCOUNT, groups=("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")),
        ),
        ([(USER, ACCOUNT), (GROUP, "a")], User(ACCOUNT, groups=("a", "system:authenticated"))),
        ([(USER, "")], ADMIN),
        ([("impersonate-anything", "x")], ADMIN),
    ],
)
def test_who_may_do_everything_becomes_whom_the_headers_name(headers: Headers, expected: User) -> None:
    assert become(ADMIN, headers) == expected


@pytest.mark.parametrize(
    "name",
    ["system:serviceaccount:default", "system:serviceaccount:default:a:b", "system:serviceaccount:default:Bot", "bot"],
)
def test_what_is_no_service_account_is_a_user_like_any_other(name: str) -> None:
    asked: list[Attributes] = []

    def decide(_user: User, attributes: Attributes) -> Decision:
        asked.append(attributes)
        return Decision(allowed=True)

    assert impersonate(ADMIN, [(USER, name)], decide, URI) == User(name, groups=("system:authenticated",))
    assert asked == [Attributes("impersonate", resource="users", name=name)]


@pytest.mark.parametrize(
    "headers",
    [
        [(USER, "zed")],
        [(USER, "system:serviceaccount:kube-system:bot")],
        [(USER, "zed"), ("impersonate-extra-scopes", "ok")],
    ],
)
def test_who_has_the_right_to_everything_that_is_named_may(headers: Headers) -> None:
    assert become(LIM, headers).name == headers[0][1]


CANNOT = 'User "lim" cannot impersonate resource'
AT_CLUSTER = "at the cluster scope"


@pytest.mark.parametrize(
    ("headers", "message", "details"),
    [
        (
            [(USER, "<amy>")],
            f'users "<amy>" is forbidden: {CANNOT} "users" in API group "" {AT_CLUSTER}',
            {"name": "<amy>", "kind": "users"},
        ),
        (
            [(USER, "system:serviceaccount:default:other")],
            (
                f'serviceaccounts "other" is forbidden: {CANNOT} "serviceaccounts" in API group "" in the namespace'
                ' "default"'
            ),
            {"name": "other", "kind": "serviceaccounts"},
        ),
        (
            [(USER, "zed"), (GROUP, "system:masters")],
            f'groups "system:masters" is forbidden: {CANNOT} "groups" in API group "" {AT_CLUSTER}',
            {"name": "system:masters", "kind": "groups"},
        ),
        (
            [(USER, "zed"), (UID, "7")],
            (
                f'uids.authentication.k8s.io "7" is forbidden: {CANNOT} "uids" in API group "authentication.k8s.io"'
                f" {AT_CLUSTER}"
            ),
            {"name": "7", "group": "authentication.k8s.io", "kind": "uids"},
        ),
        (
            [(USER, "zed"), ("impersonate-extra-scopes", "no")],
            (
                f'userextras.authentication.k8s.io "no" is forbidden: {CANNOT} "userextras/scopes" in API group'
                f' "authentication.k8s.io" {AT_CLUSTER}'
            ),
            {"name": "no", "group": "authentication.k8s.io", "kind": "userextras"},
        ),
    ],
)
def test_who_lacks_the_right_to_one_of_them_is_refused(headers: Headers, message: str, details: dict[str, str]) -> None:
    refused = refusal(LIM, headers)
    assert (refused.code, refused.reason, refused.message, refused.details) == (403, "Forbidden", message, details)


@pytest.mark.parametrize("user", [ADMIN, LIM])
@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        ([(GROUP, "team")], "{Group  team    }"),
        ([(UID, "1"), (GROUP, "<a>")], "{Group  &lt;a&gt;    } {UID  1  authentication.k8s.io/v1  }"),
        ([("impersonate-extra-x", "v")], "{UserExtra  v  authentication.k8s.io/v1  x}"),
        ([(USER, ""), (GROUP, "x")], "{Group  x    }"),
        ([(GROUP, "")], "{Group      }"),
    ],
)
def test_groups_and_the_like_without_a_user_are_an_error(user: User, headers: Headers, shown: str) -> None:
    refused = refusal(user, headers)
    assert refused.code == 500
    assert refused.message == (
        f'Internal Server Error: "/api/v1/pods?x=&lt;a&gt;": requested [{shown}] without impersonating a user\n'
    )


def test_only_headers_of_impersonation_are_wishes() -> None:
    assert read_wishes([("accept", "*/*"), ("x-impersonate-user", "zed"), ("impersonate-users", "zed")]) == Wishes()
