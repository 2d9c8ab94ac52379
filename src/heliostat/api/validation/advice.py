"""What KubeRay's operator accepts although it does not end well: warnings for people, never events.

Two worker groups of one name share their Pods (KubeRay refuses that only in its optional webhook, raycronjob.md §6),
and an upgrade strategy inside a RayJob or RayService makes a RayCluster that is refused later (V-U2), so that its owner
waits for ever. Ray's autoscaler ends with an error where there are no worker groups. A Pod that requests more than its
limit is refused by the API server each time that it is made.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from heliostat.api.cluster_features import is_autoscaling
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster, RayClusterSpec
from heliostat.api.raycronjob import RayCronJob
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.api.serve_config import ServeConfigError, read_config
from heliostat.api.serve_fields import list_misspelt
from heliostat.api.validation.job_advice import job_advice
from heliostat.api.validation.pod_template import objects, pod_spec, quantities_of
from heliostat.kube.paths import Path, format_path
from heliostat.kube.problems import Problem
from heliostat.kube.quantity import Quantity, QuantityError


def advice(subject: RayCluster | RayJob | RayService | RayCronJob) -> Iterator[Problem]:
    if isinstance(subject, RayJob):
        yield from job_advice(subject.spec, ("spec",))
    if isinstance(subject, RayCronJob):
        yield from job_advice(subject.spec.job_template, ("spec", "jobTemplate"))
    if isinstance(subject, RayService):
        yield from _serve_config_warnings(subject.spec.serve_config_v2 or "")
    spec, at = _cluster_spec_of(subject)
    if spec is None:
        return
    yield from _repeated_group_warnings(spec, at)
    yield from _no_group_warnings(spec, at)
    for template, where in _templates(spec, at):
        yield from _limit_warnings(template, where)
    if not isinstance(subject, RayCluster):
        yield from _upgrade_warnings(spec, at, "RayService" if isinstance(subject, RayService) else "RayJob")


def _cluster_spec_of(subject: RayCluster | RayJob | RayService | RayCronJob) -> tuple[RayClusterSpec | None, Path]:
    if isinstance(subject, RayCluster):
        return subject.spec, ("spec",)
    if isinstance(subject, RayService):
        return subject.spec.ray_cluster_config, ("spec", "rayClusterConfig")
    if isinstance(subject, RayJob):
        return subject.spec.ray_cluster_spec, ("spec", "rayClusterSpec")
    return subject.spec.job_template.ray_cluster_spec, ("spec", "jobTemplate", "rayClusterSpec")


def _serve_config_warnings(text: str) -> Iterator[Problem]:
    """KubeRay: rayservice.md §11, it is not validated; Ray refuses it, or nothing comes of it."""
    try:
        for each in list_misspelt(read_config(text)):
            yield Problem(
                path=("spec", "serveConfigV2"),
                problem=f"{format_path(each.path)} is no field of Serve, which passes over it",
                fix=f"did you mean {each.meant}?",
                rule="serve-field",
                severity="warning",
            )
    except ServeConfigError as error:
        yield Problem(
            path=("spec", "serveConfigV2"),
            problem=f"{_tell(error)}; nothing of it is given to Serve",
            fix="write a YAML map with a list of applications, each with a name and a route_prefix of its own",
            rule="rayservice-config-checked",
            severity="warning",
        )


def _tell(error: ServeConfigError) -> str:
    """It follows on the field's name, or tells of something inside."""
    text = str(error)
    return text.removeprefix(": ") if text.startswith(": ") else f"the text{text}"


def _no_group_warnings(spec: RayClusterSpec, at: Path) -> Iterator[Problem]:
    if is_autoscaling(spec) and spec.worker_group_specs is None:
        yield Problem(
            path=(*at, "enableInTreeAutoscaling"),
            problem="Ray's autoscaler fails without workerGroupSpecs (KeyError), and the head with it",
            fix="add a worker group, which may have replicas: 0 and minReplicas: 0",
            rule="autoscaler-without-groups",
            severity="warning",
        )


def _repeated_group_warnings(spec: RayClusterSpec, at: Path) -> Iterator[Problem]:
    first_of: dict[str, int] = {}
    for index, group in enumerate(spec.worker_group_specs or []):
        first = first_of.setdefault(group.group_name, index)
        if first != index:
            yield Problem(
                path=(*at, "workerGroupSpecs", index, "groupName"),
                problem=f"worker group names must be unique: {group.group_name} is also the name of group {first}",
                fix="rename one of the groups: Pods are found by the name of their group",
                rule="webhook.unique-groups",
                severity="warning",
            )


def _templates(spec: RayClusterSpec, at: Path) -> Iterator[tuple[JsonObject, Path]]:
    yield spec.head_group_spec.template, (*at, "headGroupSpec", "template")
    for index, group in enumerate(spec.worker_group_specs or []):
        yield group.template, (*at, "workerGroupSpecs", index, "template")


def _limit_warnings(template: JsonObject, at: Path) -> Iterator[Problem]:
    for place in ("initContainers", "containers"):
        for index, container in enumerate(objects(pod_spec(template).get(place))):
            for name, (request, limit) in _list_excesses(container):
                yield Problem(
                    path=(*at, "spec", place, index, "resources", "requests", name),
                    problem=f"{request} is more than the limit of {limit}: the API server refuses the Pod",
                    fix=f"lower it to {limit}, or raise the limit to {request}",
                    rule="requests-within-limits",
                    severity="warning",
                )


def _list_excesses(container: JsonObject) -> Iterator[tuple[str, tuple[Any, Any]]]:
    requests, limits = (quantities_of(container, kind) for kind in ("requests", "limits"))
    for name in requests:
        with suppress(QuantityError):  # told otherwise, if at all
            if name in limits and Quantity.parse(requests[name]).nano > Quantity.parse(limits[name]).nano:
                yield name, (requests[name], limits[name])


def _upgrade_warnings(spec: RayClusterSpec, at: Path, owner: str) -> Iterator[Problem]:
    if spec.upgrade_strategy is not None and spec.upgrade_strategy.type is not None:
        path: Path = (*at, "upgradeStrategy")
        yield Problem(
            path=(*path, "type"),
            problem=f"upgradeStrategy cannot be set when RayCluster is created by {owner}: the {owner} is accepted,"
            " its RayCluster is refused, and no Pod starts",
            fix=f"remove {format_path(path)}",
            rule="V-U2",
            severity="warning",
        )
