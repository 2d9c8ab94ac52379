"""ClusterRoles made of others."""

from embedded.access.rbac_objects import cluster_binding, cluster_role, rule, user, user_subject, wants
from heliostat.embedded.access.aggregation import collect_rules, plan_aggregation
from heliostat.embedded.access.rbac import Policy
from heliostat.kube.jsontree import JsonObject

GET, LIST, WATCH = (rule(verb, "", "pods") for verb in ("get", "list", "watch"))


def collecting(name: str, *labels: str, own: dict[str, str] | None = None) -> JsonObject:
    selectors = [{"matchLabels": {label: "true"}} for label in labels]
    return cluster_role(name, labels=own or {}, aggregationRule={"clusterRoleSelectors": selectors})


def by_name(*roles: JsonObject) -> dict[str, JsonObject]:
    return {role["metadata"]["name"]: role for role in roles}


def test_rules_come_by_selector_then_by_name_each_once() -> None:
    roles = by_name(
        collecting("all", "second", "first"),
        cluster_role("b", GET, WATCH, labels={"first": "true"}),
        cluster_role("a", GET, labels={"first": "true"}),
        cluster_role("z", LIST, labels={"second": "true"}),
        cluster_role("unlabelled", rule("delete", "", "pods")),
    )
    assert collect_rules(roles["all"], roles) == [LIST, GET, WATCH]


def test_a_collected_role_may_itself_be_collected() -> None:
    roles = by_name(
        collecting("top", "to-top"),
        collecting("middle", "to-middle", own={"to-top": "true"}),
        cluster_role("leaf", GET, labels={"to-middle": "true"}),
    )
    assert collect_rules(roles["top"], roles) == [GET]


def test_roles_that_collect_each_other_end() -> None:
    roles = by_name(
        collecting("a", "x", own={"y": "true"}),
        collecting("b", "y", own={"x": "true"}),
        cluster_role("leaf", GET, labels={"x": "true", "y": "true"}),
    )
    assert collect_rules(roles["a"], roles) == [GET]
    assert collect_rules(roles["b"], roles) == [GET]


def test_a_role_that_selects_itself_collects_the_others() -> None:
    roles = by_name(collecting("a", "x", own={"x": "true"}), cluster_role("leaf", GET, labels={"x": "true"}))
    assert collect_rules(roles["a"], roles) == [GET]


def test_what_stands_in_the_rules_of_a_collecting_role_does_not_count() -> None:
    stale = {**collecting("a", "x"), "rules": [rule("*", "*", "*")]}
    assert collect_rules(stale, by_name(stale)) == []


def test_an_unreadable_selector_collects_nothing() -> None:
    broken = cluster_role("a", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"not a key!": "true"}}]})
    assert collect_rules(broken, by_name(broken, cluster_role("leaf", GET))) == []


def test_an_empty_selector_collects_everything() -> None:
    everything = cluster_role("a", aggregationRule={"clusterRoleSelectors": [{}]})
    assert collect_rules(everything, by_name(everything, cluster_role("leaf", GET))) == [GET]


def test_the_plan_names_what_has_fallen_behind_and_then_nothing() -> None:
    roles = by_name(collecting("a", "x"), collecting("b", "none"), cluster_role("leaf", GET, labels={"x": "true"}))
    assert plan_aggregation(roles) == {"a": [GET]}
    roles["a"]["rules"] = [GET]
    assert plan_aggregation(roles) == {}


def test_the_authorizer_uses_collected_rules_at_once() -> None:
    policy = Policy([collecting("a", "x"), cluster_binding("b", "a", user_subject("ann"))])
    assert not policy.decide(user("ann"), wants("get pods")).allowed
    policy.put(cluster_role("leaf", GET, labels={"x": "true"}))
    assert policy.decide(user("ann"), wants("get pods")).allowed
    policy.put(cluster_role("leaf", GET))
    assert not policy.decide(user("ann"), wants("get pods")).allowed
