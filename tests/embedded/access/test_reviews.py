"""Questions about access. The answers and refusals are those kube-apiserver 1.34 gave to the same requests."""

from collections.abc import Callable
from typing import Any

import pytest

from embedded.access.rbac_objects import binding, cluster_binding, cluster_role, path_rule, rule, user_subject
from heliostat.embedded.access.default_roles import build_default_objects
from heliostat.embedded.access.rbac import Policy
from heliostat.embedded.access.reviews import (
    answer_local_subject_access_review,
    answer_self_subject_access_review,
    answer_self_subject_review,
    answer_self_subject_rules_review,
    answer_subject_access_review,
    answer_token_review,
)
from heliostat.embedded.access.tokens import UNKNOWN_TOKEN, TokenRefused, TokenVerdict, Verified
from heliostat.embedded.access.users import User
from heliostat.embedded.refusals import RefusedError
from heliostat.kube.jsontree import JsonObject, copy_tree

POLICY = Policy(
    [
        *build_default_objects(),
        cluster_role("reader", rule("get", "", "pods", "one"), path_rule("get", "/a/*")),
        cluster_binding("bob-reads", "reader", user_subject("bob")),
        cluster_binding("lost", "nowhere", user_subject("carl")),
        binding("t", "lost2", "Role/nowhere2", user_subject("carl")),
    ]
)
ADMIN = User("admin", groups=("system:masters", "system:authenticated"))
BOB = User("bob", "2", ("team", "system:authenticated"))
CARL = User("carl")
GET_PODS = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
MISSING = (
    '[clusterrole.rbac.authorization.k8s.io "nowhere" not found, role.rbac.authorization.k8s.io "nowhere2" not found]'
)


def review(kind: str, spec: JsonObject, **metadata: Any) -> JsonObject:
    tree: JsonObject = {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "spec": spec}
    return {**tree, "metadata": metadata} if metadata else tree


def ask_self(spec: JsonObject, user: User = BOB, **metadata: Any) -> JsonObject:
    return answer_self_subject_access_review(review("SelfSubjectAccessReview", spec, **metadata), user, POLICY)


def ask(spec: JsonObject, **metadata: Any) -> JsonObject:
    return answer_subject_access_review(review("SubjectAccessReview", spec, **metadata), POLICY)


def ask_local(spec: JsonObject, **metadata: Any) -> JsonObject:
    return answer_local_subject_access_review(review("LocalSubjectAccessReview", spec, **metadata), "default", POLICY)


def refusal_of(call: Callable[[], JsonObject]) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        call()
    return caught.value


PUBLIC = (
    'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" '
    'to Group "system:authenticated"'
)
READS = 'RBAC: allowed by ClusterRoleBinding "bob-reads" of ClusterRole "reader" to User "bob"'


@pytest.mark.parametrize(
    ("user", "spec", "status"),
    [
        (ADMIN, GET_PODS, {"allowed": True}),
        (BOB, GET_PODS, {"allowed": False}),
        (
            BOB,
            {"resourceAttributes": {"verb": "get", "resource": "pods", "name": "one", "namespace": "x"}},
            {"allowed": True, "reason": READS},
        ),
        (BOB, {"nonResourceAttributes": {"verb": "get", "path": "/version"}}, {"allowed": True, "reason": PUBLIC}),
        (BOB, {"nonResourceAttributes": {"verb": "get", "path": "/a/b"}}, {"allowed": True, "reason": READS}),
        (BOB, {"nonResourceAttributes": {"verb": "get"}}, {"allowed": False}),
        (
            CARL,
            {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "t"}},
            {"allowed": False, "reason": f"RBAC: {MISSING}"},
        ),
    ],
)
def test_may_i(user: User, spec: JsonObject, status: JsonObject) -> None:
    before = copy_tree(spec)
    assert ask_self(spec, user) == {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": spec,
        "status": status,
    }
    assert spec == before


def test_a_question_about_oneself_ignores_whom_the_body_names() -> None:
    assert not ask_self({**GET_PODS, "user": "admin", "groups": ["system:masters"]})["status"]["allowed"]


def test_may_they() -> None:
    spec = {"user": "bob", "groups": ["system:masters"], **GET_PODS}
    found = ask(spec)
    assert (found["kind"], found["spec"], found["status"]) == ("SubjectAccessReview", spec, {"allowed": True})
    attributes = {
        "verb": "get",
        "resource": "pods",
        "namespace": "x",
        "name": "one",
        "group": "g",
        "version": "v",
        "subresource": "log",
    }
    assert ask({"user": "bob", "resourceAttributes": attributes})["status"] == {"allowed": False}
    assert ask({"groups": ["system:masters"], **GET_PODS})["status"] == {"allowed": True}


def test_may_they_here() -> None:
    spec = {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}
    for metadata in ({}, {"namespace": "default"}):
        found = ask_local(spec, **metadata)
        assert found["metadata"] == {"namespace": "default"}
        assert found["status"] == {"allowed": False}


def where(which: str, **selector: Any) -> JsonObject:
    return {"resourceAttributes": {"verb": "get", "resource": "pods", which: selector}}


def needs(key: str, operator: str, *values: str) -> JsonObject:
    tree: JsonObject = {"key": key, "operator": operator}
    return {**tree, "values": list(values)} if values else tree


PATH = {"verb": "get", "path": "/x"}
FIELD = "spec.resourceAttributes.fieldSelector"
LABEL = "spec.resourceAttributes.labelSelector"
BAD_KEY = (
    'Invalid value: "a b": name part must consist of alphanumeric characters, '
    "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  "
    "or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
INVALID: list[tuple[Callable[[], JsonObject], str, str, str]] = [
    (
        lambda: ask_self({"nonResourceAttributes": PATH, **GET_PODS}),
        "spec.nonResourceAttributes",
        "FieldValueInvalid",
        'Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ),
    (
        lambda: ask_self({}),
        "spec.resourceAttributes",
        "FieldValueInvalid",
        "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
    ),
    (
        lambda: ask_self(GET_PODS, name="x"),
        "metadata",
        "FieldValueInvalid",
        'Invalid value: {"name":"x"}: must be empty',
    ),
    (
        lambda: ask(GET_PODS),
        "spec.user",
        "FieldValueInvalid",
        'Invalid value: "": at least one of user or group must be specified',
    ),
    (
        lambda: ask({"user": "bob", **GET_PODS}, namespace="x"),
        "metadata",
        "FieldValueInvalid",
        'Invalid value: {"namespace":"x"}: must be empty',
    ),
    (
        lambda: ask_local({"user": "bob", **GET_PODS}),
        "spec.resourceAttributes.namespace",
        "FieldValueInvalid",
        'Invalid value: "": must match metadata.namespace',
    ),
    (
        lambda: ask_local({"user": "bob", "nonResourceAttributes": PATH}),
        "spec.nonResourceAttributes",
        "FieldValueInvalid",
        'Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
    ),
    (
        lambda: ask_local(
            {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}, name="q"
        ),
        "metadata",
        "FieldValueInvalid",
        'Invalid value: {"name":"q","namespace":"default"}: must be empty except for namespace',
    ),
    (
        lambda: ask_self(where("labelSelector", rawSelector="a=b", requirements=[needs("a", "In", "b")])),
        f"{LABEL}.rawSelector",
        "FieldValueInvalid",
        'Invalid value: "a=b": may not specified at the same time as requirements',
    ),
    (
        lambda: ask_self(where("fieldSelector")),
        f"{FIELD}.requirements",
        "FieldValueRequired",
        f"Required value: when {FIELD} is specified, requirements or rawSelector is required",
    ),
    (
        lambda: ask_self(where("labelSelector", requirements=[needs("a b", "In", "v")])),
        f"{LABEL}.requirements[0].key",
        "FieldValueInvalid",
        BAD_KEY,
    ),
    (
        lambda: ask_self(where("labelSelector", requirements=[needs("a", "In")])),
        f"{LABEL}.requirements[0].values",
        "FieldValueRequired",
        "Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ),
    (
        lambda: ask_self(where("fieldSelector", requirements=[needs("a", "Exists", "b")])),
        f"{FIELD}.requirements[0].values",
        "FieldValueForbidden",
        "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ),
    (
        lambda: ask_self(where("fieldSelector", requirements=[needs("", "In", "b")])),
        f"{FIELD}.requirements[0].key",
        "FieldValueRequired",
        "Required value: must be specified",
    ),
]


@pytest.mark.parametrize(("call", "field", "cause", "problem"), INVALID)
def test_a_wrong_question_is_refused_in_kube_apiservers_words(
    call: Callable[[], JsonObject], field: str, cause: str, problem: str
) -> None:
    refusal = refusal_of(call)
    assert (refusal.code, refusal.reason) == (422, "Invalid")
    assert refusal.message == f'.authorization.k8s.io "" is invalid: {field}: {problem}'
    assert refusal.details == {"group": "authorization.k8s.io"}
    assert [(found.reason, found.field, found.message) for found in refusal.causes] == [(cause, field, problem)]


def test_several_wrong_fields_are_listed() -> None:
    refusal = refusal_of(lambda: ask({}))
    assert refusal.message == (
        '.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of '
        "nonResourceAttributes or resourceAttributes must be specified, "
        'spec.user: Invalid value: "": at least one of user or group must be specified]'
    )
    assert len(refusal.causes) == 2


def test_a_local_question_about_another_namespace_is_refused() -> None:
    refusal = refusal_of(lambda: ask_local({"user": "bob", **GET_PODS}, namespace="x"))
    said = "the namespace of the provided object does not match the namespace sent on the request"
    assert (refusal.code, refusal.message) == (400, said)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (where("labelSelector", rawSelector="a=b"), None),
        (where("labelSelector", rawSelector="a in"), f"{LABEL} ignored due to parse error"),
        (where("fieldSelector", rawSelector="a in"), f"{FIELD} ignored due to parse error"),
        (where("labelSelector", requirements=[needs("a", "Foo")]), f"{LABEL} ignored due to parse error"),
        (where("fieldSelector", requirements=[needs("a", "Foo")]), f"{FIELD} ignored due to parse error"),
        (where("fieldSelector", requirements=[needs("a b", "In", "v")]), None),
        (where("labelSelector", requirements=[needs("a", "Exists")]), None),
        (where("fieldSelector", requirements=[needs("a", "Exists")]), f"{FIELD} ignored due to parse error"),
        (
            where("labelSelector", requirements=[needs("a", "Foo"), needs("b", "In", "c")]),
            f"{LABEL} partially ignored due to parse error",
        ),
    ],
)
def test_selectors_that_cannot_be_read_are_told(spec: JsonObject, error: str | None) -> None:
    status = ask_self(spec, ADMIN)["status"]
    assert status == ({"allowed": True, "evaluationError": error} if error else {"allowed": True})


def test_what_may_i() -> None:
    request = review("SelfSubjectRulesReview", {"namespace": "default"})
    assert answer_self_subject_rules_review(request, BOB, POLICY) == {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": {
            "resourceRules": [
                {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["one"]},
                {
                    "verbs": ["create"],
                    "apiGroups": ["authorization.k8s.io"],
                    "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                },
                {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
            ],
            "nonResourceRules": [
                {"verbs": ["get"], "nonResourceURLs": ["/a/*"]},
                {
                    "verbs": ["get"],
                    "nonResourceURLs": [
                        *("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez"),
                        *("/openapi", "/openapi/*", "/readyz", "/version", "/version/"),
                    ],
                },
                {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]},
            ],
            "incomplete": False,
        },
    }


def test_what_may_i_tells_of_bindings_that_lead_nowhere() -> None:
    found = answer_self_subject_rules_review(review("SelfSubjectRulesReview", {"namespace": "t"}), CARL, POLICY)
    assert found["status"]["evaluationError"] == MISSING
    assert found["status"]["resourceRules"] == found["status"]["nonResourceRules"] == []


def test_what_may_i_needs_a_namespace() -> None:
    refusal = refusal_of(lambda: answer_self_subject_rules_review(review("SelfSubjectRulesReview", {}), BOB, POLICY))
    assert (refusal.code, refusal.reason, refusal.message) == (400, "BadRequest", "no namespace on request")


def test_who_am_i() -> None:
    assert answer_self_subject_review(BOB, 1_800_000_000.0) == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": "2027-01-15T08:00:00Z"},
        "status": {"userInfo": {"username": "bob", "uid": "2", "groups": ["team", "system:authenticated"]}},
    }


def check_token(token: str, audiences: tuple[str, ...], now: float) -> TokenVerdict:
    if token == "good":
        return Verified(BOB, audiences[:1])
    return TokenRefused("service account token has expired") if token == "old" else UNKNOWN_TOKEN


def whose(token: str, *audiences: str) -> JsonObject:
    spec: JsonObject = {"token": token, "audiences": list(audiences)} if audiences else {"token": token}
    found = answer_token_review(review("TokenReview", spec), check_token, ("https://here",), 0.0)
    assert (found["kind"], found["apiVersion"]) == ("TokenReview", "authentication.k8s.io/v1")
    assert found["spec"] == spec
    status: JsonObject = found["status"]
    return status


def test_whose_token_is_this() -> None:
    info = {"username": "bob", "uid": "2", "groups": ["team", "system:authenticated"]}
    assert whose("good") == {"authenticated": True, "user": info, "audiences": ["https://here"]}
    assert whose("good", "x", "y")["audiences"] == ["x"]
    assert whose("unknown") == {"user": {}, "error": "invalid bearer token"}
    assert whose("old") == {"user": {}, "error": "[invalid bearer token, service account token has expired]"}


def test_a_token_review_needs_a_token() -> None:
    refusal = refusal_of(lambda: whose(""))
    assert (refusal.code, refusal.message) == (400, "token is required for TokenReview in authentication")
