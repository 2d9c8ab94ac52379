"""Whether a RayService is accepted: KubeRay's rules in KubeRay's order, all findings. KubeRay: rayservice.md §11."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from heliostat.api.cluster_features import is_autoscaling
from heliostat.api.go_duration import DurationError, parse_go_duration
from heliostat.api.rayservice import ClusterUpgradeOptions, RayService, RayServiceSpec
from heliostat.api.settings import Settings
from heliostat.api.validation import object_name
from heliostat.api.validation.cluster import spec_problems
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

METADATA_REASON, METADATA_PREFIX = "InvalidRayServiceMetadata", "The RayService metadata is invalid: "
SPEC_REASON, SPEC_PREFIX = "InvalidRayServiceSpec", "The RayService spec is invalid: "
NAME_LIMIT = 47
INITIALIZING_TIMEOUT_ANNOTATION = "ray.io/initializing-timeout"
UPGRADE_DEADLINE_ANNOTATION = "heliostat.dev/upgrade-deadline"
INCREMENTAL_UPGRADE = "NewClusterWithIncrementalUpgrade"
INCREMENTAL_GATE = "RayServiceIncrementalUpgrade"
UPGRADE_TYPES = (INCREMENTAL_UPGRADE, "NewCluster", "None")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_OPTIONS: Path = ("upgradeStrategy", "clusterUpgradeOptions")


def service_problems(service: RayService, settings: Settings) -> Iterator[Problem]:
    annotations = service.metadata.annotations or {}
    yield from _name_problems(service.metadata.name)
    for annotation in (INITIALIZING_TIMEOUT_ANNOTATION, UPGRADE_DEADLINE_ANNOTATION):
        yield from _timeout_problems(annotation, annotations.get(annotation, ""))
    yield from _cluster_problems(service.spec, annotations, settings)
    yield from _upgrade_type_problems(service.spec)
    if is_incremental_upgrade(service.spec, settings):
        yield from _incremental_problems(service.spec)


def is_incremental_upgrade(spec: RayServiceSpec, settings: Settings) -> bool:
    strategy = spec.upgrade_strategy
    return settings.gate(INCREMENTAL_GATE) and strategy is not None and strategy.type == INCREMENTAL_UPGRADE


def _name_problems(name: str) -> Iterator[Problem]:
    yield from (
        replace(problem, problem=METADATA_PREFIX + problem.problem)
        for problem in (
            *object_name.length_problems("RayService", name, NAME_LIMIT, rule="RS-1", reason=METADATA_REASON),
            *object_name.label_problems("RayService", name, rule="RS-1", reason=METADATA_REASON),
        )
    )


def read_seconds(text: str) -> float:
    """Of an annotation that was found sound: a Go duration, or seconds."""
    try:
        return parse_go_duration(text) / 1_000_000_000
    except DurationError:
        return float(int(text))


def _timeout_problems(annotation: str, text: str) -> Iterator[Problem]:
    trouble = _timeout_trouble(text) if text else None
    if trouble is not None:
        yield Problem(
            path=("metadata", "annotations", annotation),
            problem=f"{METADATA_PREFIX}RayService annotations is invalid: annotation {annotation} {trouble}",
            fix="write a duration such as 30m or a number of seconds such as 1800, quoted, or remove the annotation",
            rule="RS-2",
            reason=METADATA_REASON,
        )


def _timeout_trouble(text: str) -> str | None:
    try:
        return None if parse_go_duration(text) > 0 else f"must be a positive duration, got: {text}"
    except DurationError:
        pass
    if _INTEGER.fullmatch(text):
        return None if int(text) > 0 else f"must be a positive integer (seconds), got: {text}"
    return f"has invalid format: {text}. Expected Go duration format (e.g., '5m', '1h') or positive integer seconds"


def _problem(rule: str, tail: Path, problem: str, fix: str) -> Problem:
    return Problem(path=("spec", *tail), problem=SPEC_PREFIX + problem, fix=fix, rule=rule, reason=SPEC_REASON)


def _cluster_problems(spec: RayServiceSpec, annotations: dict[str, str], settings: Settings) -> Iterator[Problem]:
    cluster = spec.ray_cluster_config
    if cluster.auth_options is not None and cluster.auth_options.enable_k8s_token_auth:
        yield _problem(
            "RS-3",
            ("rayClusterConfig", "authOptions", "enableK8sTokenAuth"),
            "K8s token auth mode is currently not supported for RayService",
            "remove enableK8sTokenAuth: a RayService uses token authentication with a Secret",
        )
    for found in spec_problems(cluster, annotations, settings, ("spec", "rayClusterConfig")):
        yield replace(found, problem=SPEC_PREFIX + found.problem, reason=SPEC_REASON)
    metadata = (cluster.head_group_spec.head_service or {}).get("metadata")
    if isinstance(metadata, dict) and metadata.get("name"):
        yield _problem(
            "RS-5",
            ("rayClusterConfig", "headGroupSpec", "headService", "metadata", "name"),
            "spec.rayClusterConfig.headGroupSpec.headService.metadata.name should not be set",
            "remove the name: two clusters exist during an upgrade, and each needs a Service of its own",
        )


def _upgrade_type_problems(spec: RayServiceSpec) -> Iterator[Problem]:
    asked = spec.upgrade_strategy.type if spec.upgrade_strategy else None
    stepwise, whole, none = UPGRADE_TYPES
    if asked is not None and asked not in UPGRADE_TYPES:
        yield _problem(
            "RS-6",
            ("upgradeStrategy", "type"),
            f"Spec.UpgradeStrategy.Type value {asked} is invalid, valid options are {stepwise}, {whole}, or {none}",
            f"use one of {', '.join(UPGRADE_TYPES)}",
        )
    delay = spec.ray_cluster_deletion_delay_seconds
    if delay is not None and delay < 0:
        text = f"Spec.RayClusterDeletionDelaySeconds should be a non-negative integer, got {delay}"
        yield _problem("RS-7", ("rayClusterDeletionDelaySeconds",), text, "use 0 or more seconds")


def _incremental_problems(spec: RayServiceSpec) -> Iterator[Problem]:
    if not is_autoscaling(spec.ray_cluster_config):
        yield _problem(
            "RS-8",
            ("rayClusterConfig", "enableInTreeAutoscaling"),
            f"Ray Autoscaler is required for {INCREMENTAL_UPGRADE}",
            "set spec.rayClusterConfig.enableInTreeAutoscaling: true, or use the upgrade type NewCluster",
        )
    options = spec.upgrade_strategy.cluster_upgrade_options if spec.upgrade_strategy else None
    if options is None:
        text = f"ClusterUpgradeOptions are required for {INCREMENTAL_UPGRADE}"
        yield _problem("RS-8", _OPTIONS, text, "set stepSizePercent, intervalSeconds and gatewayClassName")
    else:
        yield from _option_problems(options)


def _option_problems(options: ClusterUpgradeOptions) -> Iterator[Problem]:
    surge = 100 if options.max_surge_percent is None else options.max_surge_percent
    step = options.step_size_percent
    for field, value in (("maxSurgePercent", surge), ("stepSizePercent", step)):
        if not 0 <= value <= 100:
            text = f"{field} must be between 0 and 100"
            yield _problem("RS-8", (*_OPTIONS, field), text, f"use a percentage from 0 to 100; it is {value}")
    if step > surge:
        text = "stepSizePercent must be less than or equal to maxSurgePercent"
        fix = f"use at most {surge}, or raise maxSurgePercent; it is {step}"
        yield _problem("RS-8", (*_OPTIONS, "stepSizePercent"), text, fix)
    if options.interval_seconds <= 0:
        text = "intervalSeconds must be greater than 0"
        yield _problem("RS-8", (*_OPTIONS, "intervalSeconds"), text, "use 1 or more seconds")
    if not options.gateway_class_name:
        text = f"gatewayClassName is required for {INCREMENTAL_UPGRADE}"
        yield _problem("RS-8", (*_OPTIONS, "gatewayClassName"), text, "name a GatewayClass of the cluster")
