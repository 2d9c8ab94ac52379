"""rayStartParams and the start command: raycluster.md §7.4, R7-20, R7-25, R7-30, R7-31."""

from typing import Any

import pytest

from desired.clusters import desired, env_of
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.resources import (
    apply_group_labels,
    apply_group_resources,
    complete_resource_params,
    is_gpu,
)
from heliostat.desired.raycluster.start_command import format_ray_start

ULIMIT = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; "


def head_of(**parts: Any) -> dict[str, Any]:
    container: dict[str, Any] = desired(**parts).head_template["spec"]["containers"][0]
    return container


def worker_of(**parts: Any) -> dict[str, Any]:
    container: dict[str, Any] = desired(**parts).groups[0].template["spec"]["containers"][0]
    return container


def test_head_command_has_every_default_in_sorted_order() -> None:
    container = head_of(head_container={"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}})
    start = (
        "ray start --head  --block  --dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0  --memory=1073741824 "
        " --metrics-export-port=8080  --num-cpus=1 "
    )
    assert container["command"] == ["/bin/bash", "-c", "--"]
    assert container["args"] == [ULIMIT + start]
    assert env_of(container)["KUBERAY_GEN_RAY_START_CMD"] == start


def test_worker_command_names_the_head_and_keeps_the_users_parameters() -> None:
    container = worker_of(
        worker={"rayStartParams": {"port": "6379"}},
        worker_container={"resources": {"limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "3"}}},
    )
    assert env_of(container)["KUBERAY_GEN_RAY_START_CMD"] == (
        "ray start  --address=demo-head-svc.ns.svc.cluster.local:6379  --block  --dashboard-agent-listen-port=52365 "
        " --memory=1073741824  --metrics-export-port=8080  --num-cpus=1  --num-gpus=3  --port=6379 "
    )


@pytest.mark.parametrize(
    ("key", "value", "flag"),
    [
        ("block", "true", " --block "),
        ("no-monitor", "TRUE", " --no-monitor "),
        ("no-monitor", "false", ""),
        ("log-color", "false", " --log-color=false "),
        ("include-dashboard", "true", " --include-dashboard=true "),
        ("include-log-monitor", "false", " --include-log-monitor=false "),
        ("num-cpus", "0", " --num-cpus=0 "),
        ("node-name", "", " --node-name= "),
    ],
)
def test_a_flag_is_bare_unless_ray_reads_an_explicit_boolean(key: str, value: str, flag: str) -> None:
    assert format_ray_start("head", {key: value}) == f"ray start --head {flag}"


@pytest.mark.parametrize(
    ("command", "args", "overwrite", "expected"),
    [
        (None, None, False, [ULIMIT + "{ray}"]),
        (["echo"], ["hi there"], False, [" echo  hi there  && " + ULIMIT + "{ray}"]),
        (["ray start --head"], None, False, None),
        (["bash", "-c"], ["ray start --head"], False, ["ray start --head"]),
        (["sleep"], ["1"], True, ["1"]),
    ],
)
def test_the_users_command_runs_first_or_alone(
    command: list[str] | None, args: list[str] | None, overwrite: bool, expected: list[str] | None
) -> None:
    annotations = {"ray.io/overwrite-container-cmd": "True"} if overwrite else {}
    container = head_of(metadata={"annotations": annotations}, head_container={"command": command, "args": args})
    ray = env_of(container)["KUBERAY_GEN_RAY_START_CMD"]
    assert container.get("args") == (expected and [text.replace("{ray}", ray) for text in expected])


def test_an_overwrite_annotation_on_the_template_counts_too() -> None:
    annotated = {"template": {"metadata": {"annotations": {"ray.io/overwrite-container-cmd": "true"}}}}
    container = worker_of(worker=annotated, worker_container={"command": ["mine"]})
    assert container["command"] == ["mine"]


@pytest.mark.parametrize("node", ["head", "worker"])
def test_block_is_forced_and_other_given_values_are_kept(node: str) -> None:
    params = {"block": "false", "metrics-export-port": "9", "dashboard-agent-listen-port": ""}
    build = head_of if node == "head" else worker_of
    command = env_of(build(**{node: {"rayStartParams": params}}))["KUBERAY_GEN_RAY_START_CMD"]
    assert " --block " in command
    assert " --metrics-export-port=9 " in command
    assert " --dashboard-agent-listen-port= " in command


def test_login_shell_reaches_ray_autoscaler_and_init_container() -> None:
    cluster = desired(Settings(login_shell=True), spec={"enableInTreeAutoscaling": True})
    containers = cluster.head_template["spec"]["containers"] + cluster.groups[0].template["spec"]["initContainers"]
    assert [container["command"] for container in containers] == [["/bin/bash", "-cl", "--"]] * 3


@pytest.mark.parametrize(
    ("resources", "limits", "expected"),
    [
        (None, {"nvidia.com/gpu": "1"}, " --num-gpus=1 "),
        (None, {"nvidia.com/mig-2g.32gb": "1"}, " --num-gpus=1 "),
        (None, {"nvidia.com/gpu-mig-12g.128gb": "1"}, ""),
        (None, {"google.com/tpu": "4"}, " --resources='{\"TPU\":4}' "),
        (None, {"aws.amazon.com/neuroncore": "4"}, " --resources='{\"neuron_cores\":4}' "),
        (
            None,
            {"google.com/tpu": "8", "aws.amazon.com/neuroncore": "4", "nvidia.com/gpu": "1"},
            " --num-gpus=1  --resources='{\"neuron_cores\":4}' ",
        ),
        ('"{"x":2}"', {"aws.amazon.com/neuroncore": "4"}, " --resources='{\"neuron_cores\":4,\"x\":2}' "),
        ("'{\"custom_resource\":2,\"neuron_cores\":3}'", {"aws.amazon.com/neuroncore": "4"}, None),
        ("'{\"custom_resource\":2,\"TPU\":4}'", {"google.com/tpu": "8"}, None),
        ("{", {"aws.amazon.com/neuroncore": "4", "nvidia.com/gpu": "1"}, " --resources={ "),
        (None, {"cpu": "500m"}, " --num-cpus=1 "),
        (None, {"cpu": "1500m", "memory": "1.5Gi"}, " --memory=1610612736  --num-cpus=2 "),
        (None, {"cpu": "0"}, ""),
        (None, {"nvidia.com/gpu": "0", "amd.com/gpu": "2"}, " --num-gpus=2 "),
    ],
)  # fmt: skip
def test_ray_is_told_what_the_limits_give(resources: str | None, limits: dict[str, str], expected: str | None) -> None:
    params = {} if resources is None else {"resources": resources}
    complete_resource_params(params, {"resources": {"limits": limits}})
    flags = format_ray_start("worker", params).removeprefix("ray start ")
    assert flags == (f" --resources={resources} " if expected is None else expected)


def test_cpu_requests_count_where_no_limit_is_set_and_memory_requests_never() -> None:
    params: dict[str, str] = {}
    complete_resource_params(params, {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}})
    assert params == {"num-cpus": "2"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"CPU": "2", "GPU": "4"}, {"num-cpus": "2", "num-gpus": "4"}),
        ({"nvidia.com/gpu": "1", "TPU": "4"}, {"num-gpus": "1", "resources": "'{\"TPU\":4}'"}),
        ({"memory": "1Ki"}, {"memory": "1024"}),
        ({"Custom": "0.5", "b": "2"}, {"resources": '\'{"Custom":0.5,"b":2}\''}),
        ({"cpu": "lots"}, {}),
        (None, {}),
    ],
)
def test_group_resources_replace_start_parameters(resources: dict[str, str] | None, expected: dict[str, str]) -> None:
    params: dict[str, str] = {}
    apply_group_resources(params, resources)
    assert params == expected


def test_group_labels_become_one_sorted_parameter() -> None:
    params: dict[str, str] = {}
    apply_group_labels(params, {"zone": "b", "accelerator": "a100"})
    assert params == {"labels": "accelerator=a100,zone=b"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvidia.com/gpu", True),
        ("amd.com/gpu", True),
        ("gpu", True),
        ("nvidia.com/mig-1g.10gb", True),
        ("google.com/tpu", False),
        ("nvidia.com/gpu.shared", False),
    ],
)
def test_what_counts_as_a_gpu(name: str, expected: bool) -> None:
    assert is_gpu(name) is expected
