"""What counts as a change that only new Pods can take up: raycluster.md §6."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desired.clusters import make_cluster
from heliostat.api.raycluster import RayClusterSpec
from heliostat.desired.raycluster.spec_hash import HALF, hash_spec, project_spec


def hash_of(**parts: Any) -> str:
    return hash_spec(make_cluster(**parts).spec).text


def test_the_hash_of_a_known_spec_is_pinned() -> None:
    """A different value here means that every cluster with the Recreate strategy is recreated by an upgrade of ours."""
    assert hash_of() == "S4I2DDR72K4VKR6RSLP21DDJFLT7MQDV"


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
        {"spec": {"rayVersion": ""}},
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


FOLLOWED: list[dict[str, Any]] = [
    {"spec": {"suspend": False}},
    {"spec": {"suspend": True}},
    {"spec": {"managedBy": "ray.io/kuberay-operator"}},
    {"spec": {"networkPolicy": {"mode": "DenyAll"}}},
    {"spec": {"autoscalerOptions": {"idleTimeoutSeconds": 90}}},
    {"spec": {"autoscalerOptions": {"upscalingMode": "Aggressive"}}},
    {"spec": {"gcsFaultToleranceOptions": {"storage": {"deletionPolicy": "Retain", "size": "2Gi"}}}},
    {"head": {"enableIngress": True}},
    {"head": {"enableIngress": False}},
    {"head": {"ingressOptions": {"host": "ray.example.com"}}},
    {"worker": {"suspend": True}},
    {"worker": {"suspend": False}},
    {"worker": {"idleTimeoutSeconds": 7}},
    {"worker": {"priority": 3}},
]
IN_PODS: list[dict[str, Any]] = [
    {"spec": {"rayVersion": "2.53.0"}},
    {"spec": {"enableInTreeAutoscaling": True}},
    {"spec": {"autoscalerOptions": {"idleTimeoutSeconds": 90, "image": "other"}}},
    {"spec": {"gcsFaultToleranceOptions": {"storage": {"claimName": "mine"}}}},
    {"head": {"enableIngress": True, "rayStartParams": {"num-cpus": "0"}}},
    {"worker": {"numOfHosts": 2}},
    {"worker": {"suspend": True, "groupName": "other"}},
]


@pytest.mark.parametrize("parts", FOLLOWED, ids=str)
def test_what_is_followed_under_running_pods_is_in_the_second_half(parts: dict[str, Any]) -> None:
    assert hash_of(**parts)[:HALF] == hash_of()[:HALF]
    assert hash_of(**parts) != hash_of(), "Recreate recreates all the same"


@pytest.mark.parametrize("parts", IN_PODS, ids=str)
def test_what_only_new_pods_take_up_is_in_the_first_half(parts: dict[str, Any]) -> None:
    assert hash_of(**parts)[:HALF] not in hash_spec(make_cluster().spec).in_force


def with_groups(*names: str) -> RayClusterSpec:
    spec = make_cluster().spec
    (group,) = spec.worker_group_specs or []
    return replace(spec, worker_group_specs=[replace(group, group_name=name) for name in names])


GROUPS = st.lists(st.sampled_from("abc"), max_size=4)


@given(before=GROUPS, after=GROUPS)
def test_groups_are_in_force_exactly_when_others_were_added_behind_them(before: list[str], after: list[str]) -> None:
    former, now = hash_spec(with_groups(*before)), hash_spec(with_groups(*after))
    assert (former.text[:HALF] in now.in_force) == (after[: len(before)] == before)
    assert (former.text == now.text) == (before == after)


def test_a_spec_with_many_groups_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[Any] = []
    encode = msgspec.json.encode

    def count_and_encode(value: Any) -> bytes:
        encoded.append(value)
        return encode(value)

    monkeypatch.setattr(msgspec.json, "encode", count_and_encode)
    for count in (10, 20, 40):
        encoded.clear()
        hash_spec(with_groups(*map(str, range(count))))
        assert len(encoded) == count + 2, "the cluster, each group, and what is followed"


def test_a_ray_services_hash_does_not_count_suspend() -> None:
    suspended, running = make_cluster(spec={"suspend": True}).spec, make_cluster().spec
    assert hash_spec(suspended, mute_suspend=True) == hash_spec(running, mute_suspend=True) == hash_spec(running)
    assert hash_spec(suspended) != hash_spec(running)


def test_quantities_are_compared_by_value() -> None:
    milli = {"resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}
    plain = {"resources": {"limits": {"memory": "1Gi", "cpu": 1}}}
    assert hash_of(head_container=milli) == hash_of(head_container=plain)


ZEROS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"env": [{"name": "A"}]}, {"env": [{"name": "A", "value": ""}]}),
    ({"tty": None}, {"tty": False, "stdin": False}),
    ({"ports": [{"containerPort": 1}]}, {"ports": [{"containerPort": 1, "hostPort": 0}]}),
    (
        {"livenessProbe": {"exec": {"command": ["a"]}}},
        {"livenessProbe": {"exec": {"command": ["a"]}, "initialDelaySeconds": 0}},
    ),
    (
        {"volumeMounts": [{"name": "a", "mountPath": "/a"}]},
        {"volumeMounts": [{"name": "a", "mountPath": "/a", "readOnly": False, "subPath": ""}]},
    ),
]


@pytest.mark.parametrize(("absent", "zero"), ZEROS, ids=str)
def test_what_a_typed_client_takes_away_does_not_count(absent: dict[str, Any], zero: dict[str, Any]) -> None:
    """Whoever applies a manifest again after KubeRay has written the object puts it back."""
    assert hash_of(head_container=absent) == hash_of(head_container=zero)
    assert hash_of(worker_container=absent) == hash_of(worker_container=zero)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"env": [{"name": "A", "value": "0"}]}, {"env": [{"name": "A"}]}),
        ({"securityContext": {"runAsNonRoot": False}}, {"securityContext": {"privileged": False}}),
        ({"securityContext": {"runAsUser": 0}}, {}),
    ],
    ids=str,
)
def test_a_zero_that_says_something_counts(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert hash_of(head_container=before) != hash_of(head_container=after)


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_a_key_of_the_users_is_no_field(place: str) -> None:
    pods = [{"template": {"metadata": {place: keys}}} for keys in ({}, {"value": ""}, {"tty": ""})]
    assert len({hash_of(head=head) for head in pods}) == len(pods)


def test_the_size_of_a_volume_is_compared_by_value() -> None:
    sizes = [
        {"template": {"spec": {"volumes": [{"name": "a", "emptyDir": {"sizeLimit": size}}]}}}
        for size in ("1Gi", "1024Mi", "2Gi")
    ]
    same, as_well, other = (hash_of(head=head) for head in sizes)
    assert same == as_well != other


def test_projecting_leaves_the_spec_alone() -> None:
    template = {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}
    cluster = make_cluster(head=template)
    project_spec(cluster.spec)
    assert cluster == make_cluster(head=template)
