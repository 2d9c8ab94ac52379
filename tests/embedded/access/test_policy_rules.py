"""What one rule matches."""

import pytest

from embedded.access.rbac_objects import path_rule, rule, wants
from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.policy_rules import Rule, read_rule
from heliostat.kube.jsontree import JsonObject

# rule, request, name in the request, verdict
ROWS: list[tuple[JsonObject, str, str, bool]] = [
    # verbs
    (rule("get", "", "pods"), "get pods", "", True),
    (rule("get list", "", "pods"), "list pods", "", True),
    (rule("get", "", "pods"), "list pods", "", False),
    (rule("*", "", "pods"), "deletecollection pods", "", True),
    (rule("get*", "", "pods"), "get pods", "", False),
    (rule("", "", "pods"), "get pods", "", False),
    # groups
    (rule("get", "apps", "deployments"), "get deployments.apps", "", True),
    (rule("get", "", "deployments"), "get deployments.apps", "", False),
    (rule("get", "apps", "pods"), "get pods", "", False),
    (rule("get", "*", "deployments"), "get deployments.apps", "", True),
    (rule("get", "*", "pods"), "get pods", "", True),
    (rule("get", ",apps", "deployments pods"), "get pods", "", True),
    (rule("get", "app", "deployments"), "get deployments.apps", "", False),
    # resources and subresources
    (rule("get", "", "pods"), "get pods/log", "", False),
    (rule("get", "", "pods/log"), "get pods", "", False),
    (rule("get", "", "pods/log"), "get pods/log", "", True),
    (rule("get", "", "pods/log"), "get pods/exec", "", False),
    (rule("get", "", "*"), "get pods", "", True),
    (rule("get", "", "*"), "get pods/log", "", True),
    (rule("get", "", "*/log"), "get pods/log", "", True),
    (rule("get", "", "*/log"), "get pods/logs", "", False),
    (rule("get", "", "*/log"), "get pods", "", False),
    (rule("get", "", "*/log"), "get log", "", False),
    (rule("get", "apps", "*/scale"), "get deployments.apps", "", False),
    (rule("get", "", "pods/*"), "get pods/log", "", False),
    (rule("get", "", "*/"), "get pods", "", False),
    (rule("get", "", "pod"), "get pods", "", False),
    # names
    (rule("get", "", "pods", "a b"), "get pods", "a", True),
    (rule("get", "", "pods", "a b"), "get pods", "c", False),
    (rule("list", "", "pods", "a"), "list pods", "", False),
    (rule("get", "", "pods", "*"), "get pods", "a", False),
    (rule("get", "", "pods"), "get pods", "anything", True),
    (rule("get", "", "pods/log", "a"), "get pods/log", "a", True),
    # paths
    (path_rule("get", "/version"), "get /version", "", True),
    (path_rule("get", "/version"), "get /version/", "", False),
    (path_rule("get", "/version"), "post /version", "", False),
    (path_rule("get", "/apis/*"), "get /apis/", "", True),
    (path_rule("get", "/apis/*"), "get /apis/ray.io/v1", "", True),
    (path_rule("get", "/apis/*"), "get /apis", "", False),
    (path_rule("get", "/apis*"), "get /apis", "", True),
    (path_rule("get", "*"), "get /anything/at/all", "", True),
    (path_rule("get", "/*/x"), "get /a/x", "", False),
    (path_rule("*", "/a /b"), "delete /b", "", True),
    # rules about resources say nothing about paths, and the other way round
    (rule("*", "*", "*"), "get /version", "", False),
    (path_rule("*", "*"), "get pods", "", False),
]


@pytest.mark.parametrize(("tree", "request_text", "name", "allowed"), ROWS)
def test_rule_matches_as_the_table_says(tree: JsonObject, request_text: str, name: str, allowed: bool) -> None:
    assert read_rule(tree).allows(wants(request_text, name)) is allowed


def test_a_slash_inside_the_resource_of_a_review_is_not_a_subresource() -> None:
    """kube-apiserver, asked about the resource ``pods/log`` without a subresource, does not apply ``*/log``."""
    request = Attributes("get", "", "pods/log")
    assert read_rule(rule("get", "", "pods/log")).allows(request)
    assert not read_rule(rule("get", "", "*/log")).allows(request)


def test_the_empty_path_is_a_path() -> None:
    """A review may ask about it; it must not turn into a question about resources."""
    assert not read_rule(rule("*", "*", "*")).allows(Attributes("get", path=""))
    assert read_rule(path_rule("get", "*")).allows(Attributes("get", path=""))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (Rule(("get", "list"), ("",), ("pods",)), '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}'),
        (
            Rule(("get",), ("",), ("secrets",), ("one",)),
            '{APIGroups:[""], Resources:["secrets"], ResourceNames:["one"], Verbs:["get"]}',
        ),
        (Rule(("put",), paths=("/a",)), '{NonResourceURLs:["/a"], Verbs:["put"]}'),
    ],
)
def test_a_rule_is_written_as_kube_apiserver_writes_it(written: Rule, text: str) -> None:
    assert str(written) == text


@pytest.mark.parametrize("absent", [{}, {"verbs": None, "apiGroups": None, "resources": None}])
def test_an_empty_rule_allows_nothing(absent: JsonObject) -> None:
    assert not read_rule(absent).allows(wants("get pods"))
