"""What Pods ask for as a whole, their quality of service, and what that means for a quota."""

from typing import Any

import pytest

from heliostat.embedded.kinds.pods.pod_resources import pod_amounts, quality_of_service, read_amounts
from heliostat.embedded.kinds.quotas.quota_usage import (
    Refusal,
    growth,
    is_in_scope,
    object_usage,
    unsaid_needs,
    used_after,
)

NOW = 1_800_000_000.0


def ask(**amounts: str) -> dict[str, Any]:
    return {"name": "a", "resources": {"requests": amounts, "limits": amounts}}


def texts(amounts: dict[str, Any]) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in amounts.items()}


class TestAmounts:
    def test_containers_add_up(self) -> None:
        spec = {"containers": [ask(cpu="500m"), ask(cpu="1", memory="1Gi")]}
        assert texts(pod_amounts(spec, "requests")) == {"cpu": "1500m", "memory": "1Gi"}

    def test_the_largest_init_container_counts_where_it_needs_more(self) -> None:
        spec = {"containers": [ask(cpu="1")], "initContainers": [ask(cpu="3"), ask(memory="1Gi")]}
        assert texts(pod_amounts(spec, "requests")) == {"cpu": "3", "memory": "1Gi"}

    def test_sidecars_run_beside_everything_after_them(self) -> None:
        sidecar = ask(cpu="1") | {"restartPolicy": "Always"}
        spec = {"containers": [ask(cpu="1")], "initContainers": [sidecar, ask(cpu="4")]}
        assert texts(pod_amounts(spec, "requests")) == {"cpu": "5"}

    def test_what_the_pod_says_itself_wins_and_overhead_comes_on_top(self) -> None:
        spec = {
            "containers": [ask(cpu="1")],
            "resources": {"requests": {"cpu": "2"}},
            "overhead": {"cpu": "100m", "memory": "10Mi"},
        }
        assert texts(pod_amounts(spec, "requests")) == {"cpu": "2100m", "memory": "10Mi"}
        assert texts(pod_amounts(spec, "limits")) == {"cpu": "1100m"}


@pytest.mark.parametrize(
    ("containers", "quality"),
    [
        ([{"name": "a"}], "BestEffort"),
        ([ask(cpu="1", memory="1Gi")], "Guaranteed"),
        ([ask(cpu="1")], "Burstable"),
        ([ask(cpu="1", memory="1Gi"), {"name": "b"}], "Burstable"),
        ([{"name": "a", "resources": {"requests": {"cpu": "0"}}}], "BestEffort"),
        ([{"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}}}], "BestEffort"),
    ],
)
def test_quality_of_service(containers: list[Any], quality: str) -> None:
    assert quality_of_service({"containers": containers}) == quality


def pod(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [ask(cpu="1")], **spec}, "status": status or {}}


class TestUsage:
    def test_a_pod_counts_with_what_it_asks_for(self) -> None:
        usage = texts(object_usage(pod(), "pods", NOW))
        assert usage == {"count/pods": "1", "pods": "1", "cpu": "1", "requests.cpu": "1", "limits.cpu": "1"}

    def test_a_pod_that_is_over_is_only_counted(self) -> None:
        assert texts(object_usage(pod({"phase": "Succeeded"}), "pods", NOW)) == {"count/pods": "1"}

    def test_custom_objects_are_counted_by_their_resource(self) -> None:
        assert texts(object_usage({"metadata": {}}, "rayclusters.ray.io", NOW)) == {"count/rayclusters.ray.io": "1"}

    def test_node_ports_and_balancers_of_services(self) -> None:
        service = {"metadata": {}, "spec": {"type": "LoadBalancer", "ports": [{}, {}]}}
        usage = texts(object_usage(service, "services", NOW))
        assert usage["services.nodeports"] == "2"
        assert usage["services.loadbalancers"] == "1"

    def test_scopes_choose_pods(self) -> None:
        quota = {"spec": {"scopes": ["Terminating"]}}
        assert not is_in_scope(quota, pod(), "pods")
        assert is_in_scope(quota, pod(activeDeadlineSeconds=5), "pods")
        assert not is_in_scope(quota, {"metadata": {}}, "configmaps")

    def test_a_priority_class_can_be_a_scope(self) -> None:
        term = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
        quota = {"spec": {"scopeSelector": {"matchExpressions": [term]}}}
        assert is_in_scope(quota, pod(priorityClassName="high"), "pods")
        assert not is_in_scope(quota, pod(), "pods")

    def test_containers_must_say_what_is_limited(self) -> None:
        hard = read_amounts({"requests.memory": "1Gi", "limits.cpu": "1", "pods": "1"})
        assert unsaid_needs(hard, pod()) == "must specify requests.memory for: a"

    def test_room_is_taken_or_refused(self) -> None:
        hard, used = read_amounts({"pods": "2", "cpu": "1"}), read_amounts({"pods": "1", "cpu": "500m"})
        assert used_after("q", hard, used, read_amounts({"pods": "1", "cpu": "500m"})) == read_amounts(
            {"pods": "2", "cpu": "1"}
        )
        refused = used_after("q", hard, used, read_amounts({"pods": "1", "cpu": "600m"}))
        assert refused == Refusal("exceeded quota: q, requested: cpu=600m, used: cpu=500m, limited: cpu=1")

    def test_only_growth_is_charged(self) -> None:
        assert growth(read_amounts({"a": "3", "b": "1"}), read_amounts({"a": "1", "b": "2"})) == read_amounts(
            {"a": "2"}
        )
