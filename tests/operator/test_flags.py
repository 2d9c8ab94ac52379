"""KubeRay's flags, gates, environment and configuration file: operator.md §1–§4."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.operator.flags import OperatorFlags, UsageError, build_settings, parse_feature_gates, parse_flags


@pytest.mark.parametrize(
    ("arguments", "field", "expected"),
    [
        (["-batch-scheduler", "volcano"], "batch_scheduler", "volcano"),
        (["--batch-scheduler=volcano"], "batch_scheduler", "volcano"),
        (["--enable-leader-election=false"], "enable_leader_election", False),
        (["-enable-leader-election=0"], "enable_leader_election", False),
        (["--enable-metrics"], "enable_metrics", True),
        (["--qps", "12.5"], "qps", 12.5),
        (["--burst=7"], "burst", 7),
        (["-reconcile-concurrency", "3"], "reconcile_concurrency", 3),
        (["--zap-log-level=debug"], "zap_log_level", "debug"),
        (["-zap-devel"], "zap_devel", True),
    ],
)
def test_go_syntax(arguments: list[str], field: str, expected: Any) -> None:
    flags, others = parse_flags(arguments)
    assert getattr(flags, field) == expected
    assert others == []


def test_a_boolean_takes_its_value_only_behind_an_equals_sign() -> None:
    flags, others = parse_flags(["--enable-metrics", "false"])
    assert flags.enable_metrics is True
    assert others == ["false"]


def test_other_arguments_keep_their_order() -> None:
    assert parse_flags(["-f", "x", "--feature-gates=A=true", "-o", "json", "--", "--qps=1"])[1] == [
        "-f", "x", "-o", "json", "--", "--qps=1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--batch-scheduler"], "needs a value"),
        (["--burst=many"], "takes a number"),
        (["--enable-metrics=maybe"], "true or false"),
    ],
)
def test_bad_flags_say_what_they_take(arguments: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_flags(arguments)


def test_feature_gates() -> None:
    gates = parse_feature_gates("RayClusterMTLS=true, RayMultiHostIndexing=false,")
    assert gates["RayClusterMTLS"]
    assert not gates["RayMultiHostIndexing"]
    assert gates["RayClusterStatusConditions"]
    assert all(parse_feature_gates("AllAlpha=true").values())
    assert not any(parse_feature_gates("AllBeta=false").values())


@pytest.mark.parametrize("text", ["RayCronJob=false,AllAlpha=true", "AllAlpha=true,RayCronJob=false"])
def test_a_gate_that_is_named_is_as_named_wherever_its_stage_stands(text: str) -> None:
    gates = parse_feature_gates(text)
    assert not gates["RayCronJob"]
    assert gates["RayClusterMTLS"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RayClusterMTSL=true", "did you mean RayClusterMTLS"),
        ("RayClusterMTLS", "must read RayClusterMTLS=true"),
        ("RayClusterMTLS=yes", "must read RayClusterMTLS=true"),
    ],
)
def test_bad_feature_gates_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_feature_gates(text)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (OperatorFlags(batch_scheduler="volcano", enable_batch_scheduler=True), "not both"),
        (OperatorFlags(batch_scheduler="vulcano"), "did you mean volcano"),
        (OperatorFlags(batch_scheduler="yunikorn", feature_gates="KubernetesWAS=true"), "cannot be combined"),
    ],
)
def test_start_up_refuses_contradictions(flags: OperatorFlags, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        build_settings(flags, {})


def test_the_deprecated_flag_means_volcano() -> None:
    assert build_settings(OperatorFlags(enable_batch_scheduler=True), {}).batch_scheduler == "volcano"


@pytest.mark.parametrize(
    ("variable", "value", "field", "expected"),
    [
        ("ENABLE_INIT_CONTAINER_INJECTION", "FALSE", "inject_init_container", False),
        ("ENABLE_INIT_CONTAINER_INJECTION", "0", "inject_init_container", True),
        ("ENABLE_PROBES_INJECTION", "false", "inject_probes", False),
        ("ENABLE_RANDOM_POD_DELETE", "True", "random_pod_delete", True),
        ("ENABLE_RANDOM_POD_DELETE", "1", "random_pod_delete", False),
        ("ENABLE_LOGIN_SHELL", "true", "login_shell", True),
        ("ENABLE_DETERMINISTIC_HEAD_POD_NAME", "true", "deterministic_head_name", True),
        ("CLUSTER_DOMAIN", "k8s.example", "cluster_domain", "k8s.example"),
        ("CLUSTER_DOMAIN", "", "cluster_domain", "cluster.local"),
        ("RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", "17", "requeue_seconds", 17),
        ("RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", "-1", "requeue_seconds", -1),
        ("RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", "soon", "requeue_seconds", 300),
        ("RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", "1_000", "requeue_seconds", 300),
        ("RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", " 60", "requeue_seconds", 300),
        ("RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", "9" * 20, "requeue_seconds", 300),
        ("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS", "0", "rayjob_status_check_timeout_seconds", 300),
        ("RAYJOB_PRE_RUNNING_TIMEOUT_SECONDS", "900", "rayjob_pre_running_seconds", 900),
        ("RAYJOB_PRE_RUNNING_TIMEOUT_SECONDS", "-1", "rayjob_pre_running_seconds", 0),
        ("RAYJOB_PRE_RUNNING_TIMEOUT_SECONDS", "later", "rayjob_pre_running_seconds", 0),
        ("RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS", "0", "rayjob_transition_grace_seconds", 0),
    ],
)
def test_environment_switches(variable: str, value: str, field: str, expected: Any) -> None:
    assert getattr(build_settings(OperatorFlags(), {variable: value}), field) == expected


def test_without_anything_the_defaults_hold() -> None:
    assert build_settings(OperatorFlags(), {}) == Settings()


def test_the_configuration_file_replaces_flags_and_adds_defaults() -> None:
    config = {
        "batchScheduler": "yunikorn",
        "defaultContainerEnvs": [{"name": "A", "value": "1"}],
        "defaultPodLabels": {"a": "b"},
        "unknownField": 1,
    }
    settings = build_settings(OperatorFlags(batch_scheduler="volcano"), {}, config)
    assert settings.batch_scheduler == "yunikorn"
    assert settings.default_container_envs == ({"name": "A", "value": "1"},)
    assert settings.default_pod_labels == {"a": "b"}


def test_a_wrong_type_in_the_configuration_is_named() -> None:
    with pytest.raises(UsageError, match="defaultPodLabels must be a map"):
        build_settings(OperatorFlags(), {}, {"defaultPodLabels": ["a"]})
