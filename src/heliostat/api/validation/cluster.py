"""Whether a RayCluster is accepted: KubeRay's rules in KubeRay's order, all findings.

Metadata, then the spec (the table below), then the autoscaler-v1 warning, cert-manager, the upgrade strategy and the
status. The first error is KubeRay's verdict; the later ones are for people who want to fix everything at once. Whether
the cluster is ours to judge at all (``managedBy``) is asked before, by the caller. KubeRay: raycluster.md §1 and §2.
"""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from heliostat.api.cluster_features import creator_kind
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster, RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.api.validation import object_name
from heliostat.api.validation.auth import auth_problems
from heliostat.api.validation.autoscaler import autoscaler_problems, v1_restart_warnings
from heliostat.api.validation.gcs_ft import gcs_ft_problems
from heliostat.api.validation.groups import head_group_problems, worker_group_problems
from heliostat.api.validation.history import history_problems
from heliostat.api.validation.network_policy import network_policy_problems
from heliostat.api.validation.scope import SPEC_REASON, SpecRule, SpecScope
from heliostat.api.validation.tls import cert_manager_problems, tls_problems
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

METADATA_REASON = "InvalidRayClusterMetadata"
STATUS_REASON = "InvalidRayClusterStatus"
NAME_LIMIT = 53
UPGRADE_TYPES = ("Recreate", "None")

SPEC_RULES: tuple[SpecRule, ...] = (  # V-S1 to V-S54, in KubeRay's order
    head_group_problems,
    worker_group_problems,
    gcs_ft_problems,
    autoscaler_problems,
    history_problems,
    auth_problems,
    network_policy_problems,
    tls_problems,
)


def cluster_problems(cluster: RayCluster, settings: Settings) -> Iterator[Problem]:
    scope = _scope(cluster.spec, cluster.metadata.annotations, settings, ("spec",))
    name = cluster.metadata.name
    yield from object_name.length_problems("RayCluster", name, NAME_LIMIT, rule="V-M1", reason=METADATA_REASON)
    yield from object_name.label_problems("RayCluster", name, rule="V-M2", reason=METADATA_REASON)
    yield from _spec_problems(scope)
    yield from v1_restart_warnings(scope)
    yield from cert_manager_problems(scope)
    yield from _upgrade_problems(cluster)
    conditions = None if cluster.status is UNSET else cluster.status.conditions
    yield from status_problems(conditions or [])


def spec_problems(
    spec: RayClusterSpec, annotations: dict[str, str] | None, settings: Settings, at: Path
) -> Iterator[Problem]:
    """The rules V-S1 to V-S54 alone, for a spec that stands at ``at`` in a document with these annotations."""
    return _spec_problems(_scope(spec, annotations, settings, at))


def _scope(spec: RayClusterSpec, annotations: dict[str, str] | None, settings: Settings, at: Path) -> SpecScope:
    return SpecScope(spec=spec, annotations=annotations or {}, settings=settings, at=at)


def _spec_problems(scope: SpecScope) -> Iterator[Problem]:
    for rule in SPEC_RULES:
        yield from rule(scope)


def _upgrade_problems(cluster: RayCluster) -> Iterator[Problem]:
    strategy = cluster.spec.upgrade_strategy
    asked: str | None = strategy.type if strategy else None
    if asked is None:
        return
    path: Path = ("spec", "upgradeStrategy", "type")
    if asked not in UPGRADE_TYPES:
        text = (
            f"The RayCluster spec is invalid: Spec.UpgradeStrategy.Type value {asked} is invalid, valid options are"
            " Recreate or None"
        )
        yield Problem(path=path, problem=text, fix="use Recreate or None", rule="V-U1", reason=SPEC_REASON)
    creator = creator_kind(cluster)
    if creator != "RayCluster":
        yield Problem(
            path=path,
            problem=f"upgradeStrategy cannot be set when RayCluster is created by {creator}",
            fix=f"remove upgradeStrategy from the {creator}'s cluster spec: the {creator} decides about upgrades",
            rule="V-U2",
            reason=SPEC_REASON,
        )


def status_problems(conditions: Sequence[JsonObject]) -> Iterator[Problem]:
    """What KubeRay checks last; it changes without the spec."""
    true = {condition.get("type") for condition in conditions if condition.get("status") == "True"}
    if {"RayClusterSuspending", "RayClusterSuspended"} <= true:
        yield Problem(
            path=("status", "conditions"),
            problem=(
                "invalid RayCluster State: rayv1.RayClusterSuspending and rayv1.RayClusterSuspended conditions should"
                " not be both true"
            ),
            fix="set one of the two conditions to False with kubectl edit --subresource=status",
            rule="V-T1",
            reason=STATUS_REASON,
        )
