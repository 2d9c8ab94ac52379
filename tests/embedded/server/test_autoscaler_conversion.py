"""Both APIs of an autoscaler tell of one object: what goes through the older one comes back whole."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.server.documents.autoscaler_conversion import to_v1, to_v2

PERCENTS = st.integers(1, 200)
CPU = PERCENTS.map(
    lambda percent: {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
    }
)
OTHERS = st.sampled_from(
    [
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
        {"type": "Pods", "pods": {"metric": {"name": "rate"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "2"}}},
    ]
)
STATUSES = st.fixed_dictionaries(
    {"desiredReplicas": st.integers(0, 9), "currentMetrics": st.none()},
    optional={
        "currentReplicas": st.integers(1, 9),
        "conditions": st.just([{"type": "AbleToScale", "status": "True"}]),
    },
)


@st.composite
def autoscalers(draw: st.DrawFn) -> dict[str, Any]:
    """The processor's target last, where the older API puts it."""
    metrics = draw(st.lists(OTHERS, max_size=2)) + draw(st.lists(CPU, max_size=1))
    spec: dict[str, Any] = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3}
    spec["metrics"] = metrics or [draw(CPU)]
    if draw(st.booleans()):
        spec["behavior"] = {"scaleDown": {"selectPolicy": "Disabled"}}
    annotations = draw(st.dictionaries(st.sampled_from(["a", "b"]), st.text(max_size=3), min_size=1))
    metadata = {"name": "x", "annotations": annotations}
    return {"kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec, "status": draw(STATUSES)}


@given(autoscalers())
def test_nothing_is_lost_on_the_way_through_the_older_api(autoscaler: dict[str, Any]) -> None:
    assert to_v2(to_v1(autoscaler)) == autoscaler


@given(autoscalers())
def test_the_older_api_shows_no_field_of_the_newer_one(autoscaler: dict[str, Any]) -> None:
    older = to_v1(autoscaler)
    assert not {"metrics", "behavior"} & older["spec"].keys()
    assert not {"currentMetrics", "conditions"} & older["status"].keys()


def test_an_autoscaler_without_a_target_gets_the_usual_one() -> None:
    kept = to_v2({"metadata": {"name": "x"}, "spec": {"maxReplicas": 3}})
    assert kept["spec"]["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}


def test_an_annotation_that_is_no_json_is_dropped() -> None:
    note = {"autoscaling.alpha.kubernetes.io/metrics": "not json"}
    kept = to_v2({"metadata": {"name": "x", "annotations": note}, "spec": {"targetCPUUtilizationPercentage": 5}})
    assert [metric["resource"]["name"] for metric in kept["spec"]["metrics"]] == ["cpu"]
    assert "annotations" not in kept["metadata"]
