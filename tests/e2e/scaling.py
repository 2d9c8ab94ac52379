"""Clusters whose size Ray's own autoscaler decides: one per generation of it, which scenario after scenario uses.

Starting Ray costs most, so a scenario gets a cluster at rest with the groups that it asks for, not a new one. The
machine plays nodes with TPUs: a plain one and one for each kind of slice.
"""

from typing import Any

from e2e.clusters import RealCluster, build_cluster, build_group
from e2e.local_machine import LocalMachine, wait_for

V1, V2 = "v1", "v2"

TPU = "google.com/tpu"
TPU_ACCELERATOR = "cloud.google.com/gke-tpu-accelerator"
TPU_TOPOLOGY = "cloud.google.com/gke-tpu-topology"
TPU_SLICES = (
    {TPU_ACCELERATOR: "tpu-v4-podslice", TPU_TOPOLOGY: "2x2x1"},
    {TPU_ACCELERATOR: "tpu-v6e-slice", TPU_TOPOLOGY: "4x4"},
)

_OPTIONS = {"idleTimeoutSeconds": 5, "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}}}

_REST = """
import ray
from ray.autoscaler.sdk import request_resources
from ray.util import get_placement_group, list_named_actors, placement_group_table, remove_placement_group
ray.init(namespace="tests", log_to_driver=False)
for actor in list_named_actors(all_namespaces=True):
    ray.kill(ray.get_actor(actor["name"], namespace=actor["namespace"]))
for group in placement_group_table().values():
    if group["state"] != "REMOVED":
        remove_placement_group(get_placement_group(group["name"]))
request_resources(num_cpus=0)
"""


class ScalingCluster(RealCluster):
    def __init__(self, machine: LocalMachine, version: str) -> None:
        self.version = version
        super().__init__(machine, build_autoscaling("scaling", version, []))
        self.wait_until_ready()

    def prepare(self, *groups: dict[str, Any], **options: Any) -> None:
        """Nothing of an earlier scenario is left: no demand, no worker, no group, no option."""
        self.python(_REST)
        self.use_groups()
        self.replace("/spec/autoscalerOptions", {**build_options(self.version), **options})
        self.replace("/spec/workerGroupSpecs", list(groups))

    def wait_for_scale(self, wanted: int, group: str = "", **within: float) -> None:
        """So many workers, all of them ready, and the status of the cluster says so."""
        self.wait_for_workers(wanted, group, **within)
        if not group:
            self.wait(lambda: self.status().get("desiredWorkerReplicas", 0) == wanted)


def build_options(version: str) -> dict[str, Any]:
    return {**_OPTIONS, "version": version}


def build_autoscaling(name: str, version: str, groups: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return build_cluster(name, groups, enableInTreeAutoscaling=True, autoscalerOptions=build_options(version), **fields)


def build_scaled(name: str = "workers", **fields: Any) -> dict[str, Any]:
    """A group that begins with nothing, unless told otherwise."""
    return build_group(name, **{"replicas": 0, **fields})


def start_machine_with_slices(machine: LocalMachine) -> None:
    result = machine.heliostat("up", f"--nodes={1 + len(TPU_SLICES)}", f"--node-resources={TPU}=16")
    assert result.returncode == 0, result.stderr
    wait_for(lambda: len(_node_names(machine)) == 1 + len(TPU_SLICES), 30)
    for name, labels in zip(_node_names(machine)[1:], TPU_SLICES, strict=True):
        machine.kubectl("label", name, *(f"{key}={value}" for key, value in labels.items()))


def _node_names(machine: LocalMachine) -> list[str]:
    return sorted(machine.kubectl("get", "nodes", "-o", "name").split())
