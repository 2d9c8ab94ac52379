"""What an edit of a RayService will be, said before it is applied: nothing, a change in place, or another cluster.

The field that decides is named.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.api.validation.service import is_incremental_upgrade
from heliostat.desired.raycluster.spec_hash import Projection, project_spec
from heliostat.desired.rayservice.gateway import upgrade_options
from heliostat.kube.facts import Unknown
from heliostat.plan.observing import read_cluster_spec
from heliostat.plan.rayservice.clusters import ClusterChoice, decide_clusters, look_at_clusters
from heliostat.plan.rayservice.comparing import Fit
from heliostat.plan.rayservice.gateway import CLASS_FIELD, tell_bad_class
from heliostat.plan.rayservice.observed import ObservedService
from heliostat.plan.rayservice.overdue import is_given_up
from heliostat.plan.rayservice.room import tell_lack
from heliostat.plan.rayservice.shares import ALL, read_limits

_MOST_FIELDS = 5
_CONFIG = "spec.rayClusterConfig"


def tell_edit(observed: ObservedService, live: JsonObject | None, settings: Settings) -> Iterator[str]:
    """What becomes of the clusters and of Serve, each in a sentence. ``live`` is the service before the edit."""
    inputs = look_at_clusters(observed, settings)
    if isinstance(inputs, Unknown):
        yield f"not known whether it takes another cluster: {inputs.why}"
        return
    choice = decide_clusters(replace(inputs, is_given_up=is_given_up(observed)))
    fields = _name_fields(observed)
    match choice:
        case ClusterChoice.NEW if not inputs.has_active and not inputs.has_pending:
            yield "a new RayCluster is made; requests are taken when its applications run"
        case ClusterChoice.NEW:
            yield (
                f"a new RayCluster is made beside {observed.active_name or observed.pending_name}, because of {fields};"
                f" requests move there {_tell_pace(observed, settings)}"
            )
        case ClusterChoice.IN_PLACE:
            yield f"the RayCluster is changed in place, because of {fields}; its Pods stay"
        case ClusterChoice.OFF:
            yield f"the RayCluster stays as it is although {fields} changed: upgrades are off (spec.upgradeStrategy)"
        case ClusterChoice.GIVEN_UP:
            yield "the RayCluster stays as it is: the upgrade to this spec took too long, and is not tried again"
        case ClusterChoice.STAY if inputs.is_back:
            further = "" if inputs.active is Fit.SAME else f", and then to a new RayCluster, because of {fields}"
            yield f"the upgrade is undone: requests go back to {observed.active_name} step by step{further}"
        case ClusterChoice.STAY:
            yield "the RayCluster stays as it is: nothing that its Pods are made from has changed"
    if choice is ClusterChoice.NEW:
        yield from _tell_room(observed, settings, has_active=inputs.has_active)
    if is_incremental_upgrade(observed.service.spec, settings):
        yield from _tell_class(observed)
    before = ((live or {}).get("spec") or {}).get("serveConfigV2")
    if live is not None and before != observed.service.spec.serve_config_v2 and choice is not ClusterChoice.NEW:
        yield "Serve updates its applications in place, because of spec.serveConfigV2"


def _tell_room(observed: ObservedService, settings: Settings, *, has_active: bool) -> Iterator[str]:
    if observed.room is None:
        return
    grows = has_active and is_incremental_upgrade(observed.service.spec, settings)
    lack = tell_lack(observed.service.spec.ray_cluster_config, observed.room, grows=grows)
    if lack:
        meanwhile = f"; {observed.active_name} goes on serving meanwhile" if has_active else ""
        yield f"the new RayCluster {lack}: it waits until nodes have room{meanwhile}"


def _tell_class(observed: ObservedService) -> Iterator[str]:
    options = upgrade_options(observed.service)
    trouble = tell_bad_class(observed, options.gateway_class_name) if options is not None else ""
    if trouble:
        fix = "name one that this Kubernetes has (kubectl get gatewayclass)"
        yield f"{CLASS_FIELD}: {trouble}, so nobody would serve the Gateway; {fix}"


def _tell_pace(observed: ObservedService, settings: Settings) -> str:
    if not is_incremental_upgrade(observed.service.spec, settings):
        return "when its applications run"
    limits = read_limits(observed.service)
    return f"by {limits.step} % every {limits.interval} s, with at most {ALL + limits.surge} % of the capacity in both"


def _name_fields(observed: ObservedService) -> str:
    """Those in which the spec differs from the cluster that it is compared with."""
    cluster = observed.find_pending() if observed.pending_name else observed.find_active()
    if not isinstance(cluster, dict):
        return _CONFIG
    there = project_spec(read_cluster_spec(cluster), mute_suspend=True)
    wanted = project_spec(observed.service.spec.ray_cluster_config, mute_suspend=True)
    found = list(_compare(_tree_of(there), _tree_of(wanted), _CONFIG))
    if not found:
        return "the operator's version"
    beyond = f" and {len(found) - _MOST_FIELDS} more" if len(found) > _MOST_FIELDS else ""
    return ", ".join(found[:_MOST_FIELDS]) + beyond


def _tree_of(projection: Projection) -> JsonObject:
    """With what a running cluster follows in the place where the spec has it."""
    followed = dict(projection.followed)
    of_groups = followed.pop("groups", [])
    groups = [{**group, **beside} for group, beside in zip(projection.groups, of_groups, strict=False)]
    return {**projection.cluster, **followed, "workerGroupSpecs": groups}


def _compare(there: Any, wanted: Any, path: str) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(wanted, dict):
        for key in sorted(there.keys() | wanted.keys()):
            yield from _compare(there.get(key), wanted.get(key), f"{path}.{key}")
    elif isinstance(there, list) and isinstance(wanted, list):
        for number in range(max(len(there), len(wanted))):
            before, after = (each[number] if number < len(each) else None for each in (there, wanted))
            yield from _compare(before, after, f"{path}[{number}]")
    elif there != wanted:
        yield path
