"""RBAC objects, and the reviews that say who may do what."""

from conformance.model import Call, Json, Settle, sequence
from conformance.objects import role, role_binding
from conformance.requests import create, delete, get, listing, merge, update

AUTHORIZATION = "/apis/authorization.k8s.io/v1"


def _review(kind: str, plural: str, spec: Json) -> Call:
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    return Call(method="POST", path=f"{AUTHORIZATION}/{plural}", body=body)


SEQUENCES = (
    sequence(
        "rbac-life",
        create("roles", role("reader")),
        create("roles", role("weird:name", [])),
        create("roles", role("a", [{"apiGroups": [""], "resources": ["pods"]}])),
        create("roles", role("a", [{"verbs": ["get"]}])),
        create("roles", role("a", [{"nonResourceURLs": ["/x"], "verbs": ["get"]}])),
        create("clusterroles", role("${seq}", [{"nonResourceURLs": ["/x"], "verbs": ["get"]}], "ClusterRole")),
        create("clusterroles", {**role("${seq}-agg", [], "ClusterRole"), "aggregationRule": {}}),
        create("rolebindings", role_binding("binds", "reader")),
        create("rolebindings", {**role_binding("b2", "reader"), "subjects": [{"kind": "Odd", "name": "x"}]}),
        create("rolebindings", {**role_binding("b2", "reader"), "subjects": [{"kind": "ServiceAccount", "name": "x"}]}),
        create("rolebindings", {**role_binding("b2", "reader"), "roleRef": {}}),
        create("rolebindings", {**role_binding("b3", "reader"), "subjects": None}),
        merge("rolebindings", "binds", {"roleRef": {"name": "other"}}),
        update("rolebindings", "binds", role_binding("binds", "reader")),
        create("clusterrolebindings", role_binding("${seq}", "${seq}", "ClusterRoleBinding")),
        merge("roles", "reader", {"rules": []}),
        get("roles", "reader"),
        listing("rolebindings"),
        delete("roles", "reader"),
        delete("clusterroles", "${seq}"),
        delete("clusterrolebindings", "${seq}"),
    ),
    sequence(
        "access-reviews",
        create("roles", role("reader")),
        create("rolebindings", role_binding("binds", "reader")),
        Settle(),
        _review(
            "SelfSubjectAccessReview",
            "selfsubjectaccessreviews",
            {"resourceAttributes": {"namespace": "${ns}", "verb": "get", "resource": "pods"}},
        ),
        _review(
            "SelfSubjectAccessReview",
            "selfsubjectaccessreviews",
            {"nonResourceAttributes": {"path": "/x", "verb": "get"}},
        ),
        _review("SelfSubjectAccessReview", "selfsubjectaccessreviews", {}),
        _review(
            "SubjectAccessReview",
            "subjectaccessreviews",
            {"user": "ada", "resourceAttributes": {"namespace": "${ns}", "verb": "get", "resource": "pods"}},
        ),
        _review(
            "SubjectAccessReview",
            "subjectaccessreviews",
            {"user": "eve", "resourceAttributes": {"namespace": "${ns}", "verb": "get", "resource": "pods"}},
        ),
        _review(
            "SubjectAccessReview", "subjectaccessreviews", {"resourceAttributes": {"verb": "get", "resource": "pods"}}
        ),
        Call(method="GET", path=f"{AUTHORIZATION}/selfsubjectaccessreviews"),
        Call(
            method="POST",
            path="/apis/authentication.k8s.io/v1/tokenreviews",
            body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "rubbish"}},
        ),
        Call(
            method="POST",
            path="/apis/authentication.k8s.io/v1/tokenreviews",
            body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {}},
        ),
        create(
            "serviceaccounts",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 5}},
            ("default", "token"),
        ),
        create(
            "serviceaccounts",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["x"]}},
            ("missing", "token"),
        ),
    ),
)
