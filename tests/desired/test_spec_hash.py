"""What counts as a change that only new Pods can take up: raycluster.md §6."""

from typing import Any

import pytest

from desired.clusters import make_cluster
from heliostat.desired.spec_hash import hash_spec, project_spec


def hash_of(**parts: Any) -> str:
    return hash_spec(make_cluster(**parts).spec)


def test_the_hash_of_a_known_spec_is_pinned() -> None:
    """A different value here means that every cluster with the Recreate strategy is recreated by an upgrade of ours."""
    assert hash_of() == "C764CH6BFMERCMAKF55KKPB4I1MDLBKK"


def test_it_looks_like_kuberays() -> None:
    assert len(hash_of()) == 32
    assert set(hash_of()) <= set("0123456789ABCDEFGHIJKLMNOPQRSTUV")


@pytest.mark.parametrize(
    "parts",
    [
        {"worker": {"replicas": 4}},
        {"worker": {"minReplicas": 1}},
        {"worker": {"maxReplicas": 9}},
        {"worker": {"scaleStrategy": {"workersToDelete": ["x"]}}},
        {"spec": {"upgradeStrategy": {"type": "Recreate"}}},
        {"head": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}},
        {"worker": {"template": {"spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/x"}]}}}},
        {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}},
        {"head": {"rayStartParams": None}},
        {"head_container": {"env": []}},
    ],
    ids=str,
)
def test_scaling_scheduling_and_emptiness_do_not_count(parts: dict[str, Any]) -> None:
    assert hash_of(**parts) == hash_of()


@pytest.mark.parametrize(
    "parts",
    [
        {"spec": {"suspend": False}},
        {"spec": {"rayVersion": "2.53.0"}},
        {"spec": {"enableInTreeAutoscaling": True}},
        {"spec": {"headServiceAnnotations": {"a": "b"}}},
        {"worker": {"numOfHosts": 2}},
        {"worker": {"groupName": "other"}},
        {"worker": {"template": {"metadata": {"labels": {"a": "b"}}}}},
        {"head_container": {"image": "rayproject/ray:2.53.0"}},
        {"head": {"rayStartParams": {"num-cpus": "0"}}},
    ],
    ids=str,
)
def test_everything_else_counts(parts: dict[str, Any]) -> None:
    assert hash_of(**parts) != hash_of()


def test_a_ray_services_hash_does_not_count_suspend() -> None:
    suspended, running = make_cluster(spec={"suspend": True}).spec, make_cluster().spec
    assert hash_spec(suspended, mute_suspend=True) == hash_spec(running, mute_suspend=True) == hash_spec(running)


def test_quantities_are_compared_by_value() -> None:
    milli = {"resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}
    plain = {"resources": {"limits": {"memory": "1Gi", "cpu": 1}}}
    assert hash_of(head_container=milli) == hash_of(head_container=plain)


def test_projecting_leaves_the_spec_alone() -> None:
    template = {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}
    cluster = make_cluster(head=template)
    project_spec(cluster.spec)
    assert cluster == make_cluster(head=template)
