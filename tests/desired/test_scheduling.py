"""Batch schedulers: raycluster.md §13, operator.md §15."""

import json
from typing import Any

import pytest

from desired.clusters import desired, gates
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.desired.slots import Impossible

GANG = {"labels": {"ray.io/gang-scheduling-enabled": "true"}}
REQUESTS = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}


def scheduled(name: str, **parts: Any) -> DesiredCluster:
    return desired(Settings(batch_scheduler=name), head_container=REQUESTS, worker_container=REQUESTS, **parts)


def objects(cluster: DesiredCluster) -> tuple[dict[str, Any], ...]:
    assert not isinstance(cluster.scheduling, Impossible)
    return cluster.scheduling


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("volcano", "volcano"),
        ("yunikorn", "yunikorn"),
        ("kai-scheduler", "kai-scheduler"),
        ("scheduler-plugins", "scheduler-plugins-scheduler"),
        ("", None),
    ],
)
def test_every_pod_names_its_scheduler(scheduler: str, expected: str | None) -> None:
    cluster = scheduled(scheduler)
    for template in (cluster.head_template, cluster.groups[0].template):
        assert template["spec"].get("schedulerName") == expected


class TestVolcano:
    def test_the_pod_group_is_as_large_as_the_cluster(self) -> None:
        (group,) = objects(scheduled("volcano", worker={"replicas": 3}, metadata={"annotations": {"a": "b"}}))
        assert group["metadata"]["name"] == "ray-demo-pg"
        assert group["metadata"]["annotations"] == {"a": "b"}
        assert group["spec"] == {"minMember": 4, "minResources": {"cpu": "4", "memory": "4Gi"}}

    def test_with_autoscaling_it_is_as_large_as_the_smallest_cluster(self) -> None:
        (group,) = objects(
            scheduled(
                "volcano",
                worker={"replicas": 3, "minReplicas": 1, "numOfHosts": 2},
                spec={"enableInTreeAutoscaling": True},
            )
        )
        assert group["spec"] == {"minMember": 3, "minResources": {"cpu": "3", "memory": "3Gi"}}

    def test_labels_choose_queue_priority_and_topology(self) -> None:
        labels = {
            "volcano.sh/queue-name": "q",
            "ray.io/priority-class-name": "high",
            "volcano.sh/network-topology-mode": "hard",
            "volcano.sh/network-topology-highest-tier-allowed": "2",
        }
        cluster = scheduled("volcano", metadata={"labels": labels})
        (group,) = objects(cluster)
        assert (group["spec"]["queue"], group["spec"]["priorityClassName"]) == ("q", "high")
        assert group["spec"]["networkTopology"] == {"mode": "hard", "highestTierAllowed": 2}
        metadata = cluster.groups[0].template["metadata"]
        assert metadata["labels"]["volcano.sh/queue-name"] == "q"
        assert metadata["annotations"]["scheduling.k8s.io/group-name"] == "ray-demo-pg"
        assert metadata["annotations"]["volcano.sh/task-spec"] == "small"

    @pytest.mark.parametrize("tier", ["two", "1_0", "9" * 20])
    def test_a_tier_that_is_no_number_is_impossible(self, tier: str) -> None:
        labels = {
            "volcano.sh/network-topology-mode": "hard",
            "volcano.sh/network-topology-highest-tier-allowed": tier,
        }
        assert isinstance(scheduled("volcano", metadata={"labels": labels}).scheduling, Impossible)

    def test_a_tier_alone_is_ignored(self) -> None:
        labels = {"volcano.sh/network-topology-highest-tier-allowed": "two"}
        (group,) = objects(scheduled("volcano", metadata={"labels": labels}))
        assert "networkTopology" not in group["spec"]

    def test_a_ray_jobs_cluster_joins_the_group_of_its_job(self) -> None:
        labels = {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "j"}
        cluster = scheduled("volcano", metadata={"labels": labels})
        assert objects(cluster) == ()
        assert cluster.head_template["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "ray-j-pg"


class TestYunikorn:
    def test_labels_are_translated(self) -> None:
        labels = {"yunikorn.apache.org/app-id": "app", "yunikorn.apache.org/queue": ""}
        metadata = scheduled("yunikorn", metadata={"labels": labels}).head_template["metadata"]
        assert metadata["labels"]["applicationId"] == "app"
        assert "queue" not in metadata["labels"]
        assert "yunikorn.apache.org/task-groups" not in metadata["annotations"]

    def test_the_gang_is_of_minimal_size_and_in_a_fixed_order_of_keys(self) -> None:
        toleration = [{"key": "gpu", "operator": "Exists"}]
        cluster = scheduled(
            "yunikorn",
            metadata={"labels": {"ray.io/gang-scheduling-enabled": "false"}},
            worker={"minReplicas": 2, "template": {"spec": {"tolerations": toleration, "nodeSelector": {"a": "b"}}}},
        )
        metadata = cluster.groups[0].template["metadata"]
        assert metadata["annotations"]["yunikorn.apache.org/task-group-name"] == "small"
        groups = json.loads(metadata["annotations"]["yunikorn.apache.org/task-groups"])
        assert groups[0] == {"minResource": {"cpu": "1", "memory": "1Gi"}, "name": "headgroup", "minMember": 1}
        assert list(groups[1]) == ["minResource", "nodeSelector", "name", "tolerations", "minMember"]
        assert groups[1]["minMember"] == 2

    def test_a_users_task_groups_are_copied(self) -> None:
        metadata = {**GANG, "annotations": {"yunikorn.apache.org/task-groups": "mine"}}
        annotations = scheduled("yunikorn", metadata=metadata).head_template["metadata"]["annotations"]
        assert annotations["yunikorn.apache.org/task-groups"] == "mine"


def test_kai_pods_name_their_queue() -> None:
    labels = scheduled("kai-scheduler", metadata={"labels": {"kai.scheduler/queue": "q"}}).head_template["metadata"][
        "labels"
    ]
    assert labels["kai.scheduler/queue"] == "q"


class TestSchedulerPlugins:
    def test_a_gang_has_a_pod_group_with_a_plain_owner(self) -> None:
        cluster = scheduled("scheduler-plugins", metadata=GANG)
        (group,) = objects(cluster)
        assert set(group["metadata"]["ownerReferences"][0]) == {"apiVersion", "kind", "name", "uid"}
        assert group["spec"]["minMember"] == 2
        assert cluster.head_template["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "demo"

    def test_without_the_label_only_the_scheduler_is_named(self) -> None:
        cluster = scheduled("scheduler-plugins")
        assert objects(cluster) == ()
        assert "scheduling.x-k8s.io/pod-group" not in cluster.head_template["metadata"]["labels"]


class TestWorkloadAware:
    SETTINGS = gates(KubernetesWAS=True)

    def test_a_gang_is_a_workload_and_a_pod_group(self) -> None:
        cluster = desired(self.SETTINGS, metadata=GANG, worker={"replicas": 2})
        workload, group = objects(cluster)
        policy = {"gang": {"minCount": 3}}
        assert workload["spec"]["podGroupTemplates"] == [{"name": "cluster", "schedulingPolicy": policy}]
        assert group["metadata"]["name"] == "demo-cluster"
        assert group["spec"]["schedulingPolicy"] == policy
        assert cluster.head_template["spec"]["schedulingGroup"] == {"podGroupName": "demo-cluster"}

    @pytest.mark.parametrize("value", ["false", "", "yes"])
    def test_only_the_word_true_opts_in(self, value: str) -> None:
        metadata = {"labels": {"ray.io/gang-scheduling-enabled": value}}
        assert objects(desired(self.SETTINGS, metadata=metadata)) == ()

    def test_autoscaling_switches_it_off(self) -> None:
        cluster = desired(self.SETTINGS, metadata=GANG, spec={"enableInTreeAutoscaling": True})
        assert objects(cluster) == ()
        assert "schedulingGroup" not in cluster.head_template["spec"]
