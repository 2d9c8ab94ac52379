from typing import Any

import pytest

from embedded.controllers.cluster_shapes import cluster, node, pod, refusal

UNTOLERATED = ("node(s) had untolerated taint(s)",)
ELSEWHERE = ("node(s) didn't match Pod's node affinity/selector",)
NO_PORT = ("node(s) didn't have free ports for the requested pod ports",)


def taint(effect: str, key: str = "team", value: str = "ray") -> dict[str, Any]:
    return {"taints": [{"key": key, "value": value, "effect": effect}]}


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
@pytest.mark.parametrize(
    ("tolerations", "is_tolerated"),
    [
        ([], False),
        ([{"key": "team", "value": "ray"}], True),
        ([{"key": "team", "operator": "Equal", "value": "other"}], False),
        ([{"key": "team", "operator": "Exists"}], True),
        ([{"operator": "Exists"}], True),
        ([{"key": "team", "operator": "Exists", "effect": "PreferNoSchedule"}], False),
        ([{"key": "other", "operator": "Exists"}], False),
        ([{"key": "team", "operator": "Lt", "value": "ray"}], False),
    ],
)
def test_taints_turn_away_who_does_not_tolerate_them(
    effect: str, tolerations: list[dict[str, str]], is_tolerated: bool
) -> None:
    where = cluster([node("a", spec=taint(effect))])
    assert refusal(pod(tolerations=tolerations), where) == (() if is_tolerated else UNTOLERATED)


def test_a_closed_node_takes_only_who_tolerates_that() -> None:
    where = cluster([node("a", spec={"unschedulable": True})])
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    assert refusal(pod(), where) == ("node(s) were unschedulable",)
    assert refusal(pod(tolerations=[toleration]), where) == ()


def needs(*terms: Any) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def label(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({"nodeSelector": {"zone": "east", "cores": "8"}}, True),
        ({"nodeSelector": {"zone": "west"}}, False),
        (needs(label("zone", "In", "west", "east")), True),
        (needs(label("zone", "NotIn", "east")), False),
        (needs(label("rack", "NotIn", "east")), True),
        (needs(label("zone", "Exists")), True),
        (needs(label("zone", "DoesNotExist")), False),
        (needs(label("cores", "Gt", "7")), True),
        (needs(label("cores", "Gt", "8")), False),
        (needs(label("cores", "Lt", "9")), True),
        (needs(label("zone", "Lt", "9")), False),
        (needs(label("zone", "In", "west"), label("cores", "In", "8")), True),
        (needs({}), False),
        (needs(), False),
        (needs({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["a"]}]}), False),
        (
            needs(
                {
                    **label("zone", "In", "west"),
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}],
                }
            ),
            False,
        ),
        ({"nodeSelector": {"zone": "west"}, **needs(label("zone", "Exists"))}, False),
    ],
)
def test_node_selection(spec: dict[str, Any], fits: bool) -> None:
    where = cluster([node("a", labels={"zone": "east", "cores": "8"})])
    assert refusal(pod(**spec), where) == (() if fits else ELSEWHERE)


def ports(*found: dict[str, Any]) -> dict[str, Any]:
    return {"containers": [{"name": "main", "ports": [{"containerPort": 80, **port} for port in found]}]}


@pytest.mark.parametrize(
    ("wanted", "is_free"),
    [
        ({"hostPort": 8080}, False),
        ({"hostPort": 8081}, True),
        ({}, True),
        ({"hostPort": 8080, "protocol": "UDP"}, True),
        ({"hostPort": 8080, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 9000, "hostIP": "10.0.0.2"}, True),
        ({"hostPort": 9000, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 9000}, False),
    ],
)
def test_host_ports(wanted: dict[str, Any], is_free: bool) -> None:
    taken = pod("there", nodeName="a", **ports({"hostPort": 8080}, {"hostPort": 9000, "hostIP": "10.0.0.1"}))
    assert refusal(pod(**ports(wanted)), cluster([node("a")], [taken])) == (() if is_free else NO_PORT)


@pytest.mark.parametrize(
    ("requests", "reasons"),
    [
        ({"cpu": "6"}, ()),
        ({"cpu": "6001m"}, ("Insufficient cpu",)),
        ({"cpu": "7", "memory": "11Gi"}, ("Insufficient cpu", "Insufficient memory")),
        ({"nvidia.com/gpu": "1"}, ("Insufficient nvidia.com/gpu",)),
        ({"nvidia.com/gpu": "0"}, ()),
        ({"ephemeral-storage": "1"}, ("Insufficient ephemeral-storage",)),
    ],
)
def test_what_is_left_of_a_node(requests: dict[str, str], reasons: tuple[str, ...]) -> None:
    where = cluster([node("a")], [pod("there", nodeName="a", requests={"cpu": "4"})])
    assert refusal(pod(requests=requests), where) == reasons


def test_a_node_takes_only_so_many_pods() -> None:
    where = cluster([node("a", pods="1")], [pod("there", nodeName="a")])
    assert refusal(pod(requests={"cpu": "11"}), where) == ("Too many pods", "Insufficient cpu")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_are_over_take_nothing(phase: str) -> None:
    done = pod("done", nodeName="a", requests={"cpu": "10"}, status={"phase": phase})
    assert refusal(pod(requests={"cpu": "10"}), cluster([node("a")], [done])) == ()


def test_the_first_filter_that_refuses_gives_the_reason() -> None:
    closed = node("a", spec={"unschedulable": True, **taint("NoSchedule")})
    assert refusal(pod(requests={"cpu": "99"}), cluster([closed])) == ("node(s) were unschedulable",)
