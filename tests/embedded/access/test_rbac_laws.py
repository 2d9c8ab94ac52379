"""Laws of the authorizer, against a model that reads the trees anew for every question."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.access.rbac_objects import VERSION
from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.policy_rules import Rule, read_rule
from heliostat.embedded.access.rbac import Policy
from heliostat.embedded.access.rule_coverage import compact, find_missing
from heliostat.embedded.access.users import User
from heliostat.kube.jsontree import JsonObject

pytestmark = pytest.mark.slow

VERBS = ["get", "list", "*"]
GROUPS = ["", "apps", "*"]
RESOURCES = ["pods", "pods/log", "*", "*/log", "deployments"]
NAMES = ["a", "b"]
PATHS = ["/a", "/a/*", "/a/b", "*"]
NAMESPACES = ["n1", "n2"]


def some(values: list[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=3, unique=True)


resource_rules = st.fixed_dictionaries(
    {"verbs": some(VERBS), "apiGroups": some(GROUPS), "resources": some(RESOURCES), "resourceNames": some(NAMES, 0)}
)
path_rules = st.fixed_dictionaries({"verbs": some(VERBS), "nonResourceURLs": some(PATHS)})
rules = st.one_of(resource_rules, path_rules)
resource_requests = st.builds(
    Attributes,
    verb=st.sampled_from(["get", "list", "watch"]),
    group=st.sampled_from(["", "apps", "batch"]),
    resource=st.sampled_from(["pods", "deployments"]),
    subresource=st.sampled_from(["", "log", "exec"]),
    namespace=st.sampled_from(["", *NAMESPACES]),
    name=st.sampled_from(["", "a", "b", "c"]),
)
path_requests = st.builds(
    Attributes, verb=st.sampled_from(["get", "list"]), path=st.sampled_from(["/a", "/a/", "/a/b", "/ab", "/"])
)
requests = st.one_of(resource_requests, path_requests)
users = st.builds(
    User,
    name=st.sampled_from(["ann", "ben", "system:serviceaccount:n1:sa"]),
    groups=st.sampled_from([(), ("ops",), ("ops", "devs")]),
)
subjects = st.one_of(
    st.fixed_dictionaries({"kind": st.just("User"), "name": st.sampled_from(["ann", "ben"])}),
    st.fixed_dictionaries({"kind": st.just("Group"), "name": st.sampled_from(["ops", "devs"])}),
    st.fixed_dictionaries(
        {"kind": st.just("ServiceAccount"), "name": st.just("sa"), "namespace": st.sampled_from(["", *NAMESPACES])}
    ),
)


def build(kind: str, namespace: str, name: str, **body: Any) -> JsonObject:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, **body}


role_names = st.sampled_from(["r1", "r2"])
objects = st.one_of(
    st.builds(lambda name, found: build("ClusterRole", "", name, rules=found), role_names, st.lists(rules, max_size=2)),
    st.builds(
        lambda namespace, name, found: build("Role", namespace, name, rules=found),
        st.sampled_from(NAMESPACES),
        role_names,
        st.lists(resource_rules, max_size=2),
    ),
    st.builds(
        lambda name, to, who: build(
            "ClusterRoleBinding", "", name, roleRef={"kind": "ClusterRole", "name": to}, subjects=who
        ),
        st.sampled_from(["b1", "b2"]),
        role_names,
        st.lists(subjects, max_size=2),
    ),
    st.builds(
        lambda namespace, name, kind, to, who: build(
            "RoleBinding", namespace, name, roleRef={"kind": kind, "name": to}, subjects=who
        ),
        st.sampled_from(NAMESPACES),
        st.sampled_from(["b1", "b2"]),
        st.sampled_from(["Role", "ClusterRole"]),
        role_names,
        st.lists(subjects, max_size=2),
    ),
)


def place_of(tree: JsonObject) -> tuple[str, str, str]:
    return tree["kind"], tree["metadata"].get("namespace", ""), tree["metadata"]["name"]


def means(subject: JsonObject, who: User, namespace: str) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == who.name)
    if subject["kind"] == "Group":
        return subject["name"] in who.groups
    home = subject["namespace"] or namespace
    return bool(home) and who.name == f"system:serviceaccount:{home}:{subject['name']}"


def model_allows(stored: dict[tuple[str, str, str], JsonObject], who: User, request: Attributes) -> bool:
    for tree in stored.values():
        kind, namespace, _ = place_of(tree)
        in_scope = kind == "ClusterRoleBinding" or (kind == "RoleBinding" and namespace == request.namespace)
        if not in_scope or not any(means(subject, who, namespace) for subject in tree["subjects"]):
            continue
        reference = tree["roleRef"]
        home = namespace if reference["kind"] == "Role" else ""
        found = stored.get((reference["kind"], home, reference["name"]))
        if found is not None and any(read_rule(rule).allows(request) for rule in found["rules"]):
            return True
    return False


steps = st.lists(st.tuples(st.booleans(), objects), max_size=12)


@settings(max_examples=150, deadline=None)
@given(steps, st.lists(st.tuples(users, requests), min_size=1, max_size=4))
def test_decisions_follow_every_change_as_the_model_does(
    changes: list[tuple[bool, JsonObject]], questions: list[tuple[User, Attributes]]
) -> None:
    policy, stored = Policy(), dict[tuple[str, str, str], JsonObject]()
    for is_removed, tree in changes:
        if is_removed:
            stored.pop(place_of(tree), None)
            policy.remove(*place_of(tree))
        else:
            stored[place_of(tree)] = tree
            policy.put(tree)
        for who, request in questions:
            assert policy.decide(who, request).allowed is model_allows(stored, who, request)


@settings(max_examples=150, deadline=None)
@given(st.lists(objects, max_size=8), objects, users, requests)
def test_adding_an_object_of_a_new_name_never_revokes(
    present: list[JsonObject], added: JsonObject, who: User, request: Attributes
) -> None:
    before = Policy(present).decide(who, request).allowed
    renamed = {**added, "metadata": {**added["metadata"], "name": "new"}}
    assert not before or Policy([*present, renamed]).decide(who, request).allowed


@settings(max_examples=150, deadline=None)
@given(st.lists(rules, max_size=3), rules, requests)
def test_adding_a_rule_never_revokes(present: list[JsonObject], added: JsonObject, request: Attributes) -> None:
    before = any(read_rule(rule).allows(request) for rule in present)
    policy = Policy(
        [
            build("ClusterRole", "", "r", rules=[*present, added]),
            build(
                "ClusterRoleBinding",
                "",
                "b",
                roleRef={"kind": "ClusterRole", "name": "r"},
                subjects=[{"kind": "User", "name": "ann"}],
            ),
        ]
    )
    decision = policy.decide(User("ann"), request)
    assert decision.allowed is (before or read_rule(added).allows(request))


def to_rules(trees: list[JsonObject]) -> list[Rule]:
    return [read_rule(tree) for tree in trees]


@settings(max_examples=200, deadline=None)
@given(st.lists(rules, max_size=3), st.lists(rules, max_size=2), requests)
def test_what_is_covered_allows_nothing_new(
    held: list[JsonObject], wanted: list[JsonObject], request: Attributes
) -> None:
    """If nothing is missing, whoever gets the wanted rules can do nothing the holder could not."""
    if not find_missing(to_rules(held), to_rules(wanted)) and any(rule.allows(request) for rule in to_rules(wanted)):
        assert any(rule.allows(request) for rule in to_rules(held))


@settings(max_examples=150, deadline=None)
@given(st.lists(rules, max_size=3), st.lists(rules, max_size=3))
def test_everything_covers_itself_and_missing_rights_are_all_that_is_missing(
    held: list[JsonObject], wanted: list[JsonObject]
) -> None:
    assert find_missing(to_rules(wanted), to_rules(wanted)) == []
    missing = find_missing(to_rules(held), to_rules(wanted))
    assert find_missing([*to_rules(held), *missing], to_rules(wanted)) == []
    assert find_missing([*to_rules(held), *compact(missing)], to_rules(wanted)) == []
