"""A RayCluster in, everything it should consist of out: the one entry to the builders."""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster, WorkerGroupSpec
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.auth import build_auth_secret
from heliostat.desired.names import head_pod_prefix, worker_pod_prefix
from heliostat.desired.raycluster.context import BuildContext, build_context
from heliostat.desired.raycluster.gcs_storage import build_gcs_claim, is_gcs_claim_retained, users_gcs_claim
from heliostat.desired.raycluster.ingress import build_ingress, build_route
from heliostat.desired.raycluster.model import DesiredCluster, DesiredGroup
from heliostat.desired.raycluster.mtls import build_tls_objects
from heliostat.desired.raycluster.network_policies import build_network_policies
from heliostat.desired.raycluster.pods import build_head_template, build_worker_template
from heliostat.desired.raycluster.rbac import (
    build_role,
    build_role_binding,
    build_service_account,
    users_service_account,
)
from heliostat.desired.raycluster.services import build_head_service, build_headless_service, build_serve_service
from heliostat.desired.raycluster.sizes import clamped_replicas, describe_totals, desired_workers, hosts
from heliostat.desired.raycluster.spec_hash import hash_spec
from heliostat.desired.scheduling import Scheduler, scheduler_for


def build_desired(cluster: RayCluster, settings: Settings) -> DesiredCluster:
    """``cluster`` must have passed validation: the builders rely on its rules, such as one container at least."""
    context = build_context(cluster, settings)
    scheduler = scheduler_for(settings)
    spec_hash = hash_spec(cluster.spec)
    return DesiredCluster(
        service_account=build_service_account(context),
        user_service_account=users_service_account(context),
        role=build_role(context),
        role_binding=build_role_binding(context),
        ingress=build_ingress(context),
        route=build_route(context),
        auth_secret=build_auth_secret(context),
        head_service=build_head_service(context),
        headless_service=build_headless_service(context),
        serve_service=build_serve_service(context),
        gcs_pvc=build_gcs_claim(context),
        user_gcs_claim=users_gcs_claim(context),
        gcs_pvc_retained=is_gcs_claim_retained(context),
        scheduling=scheduler.build_objects(context),
        network_policies=build_network_policies(context),
        tls_objects=build_tls_objects(context),
        head_template=_finish_head(context, scheduler, spec_hash.text),
        head_name_prefix=head_pod_prefix(context.name),
        groups=tuple(_build_group(context, scheduler, group) for group in cluster.spec.worker_group_specs or []),
        workers=desired_workers(cluster.spec),
        totals=describe_totals(cluster.spec),
        spec_hash=spec_hash.text,
        hashes_in_force=spec_hash.in_force,
        tls=context.is_tls,
    )


def _finish_head(context: BuildContext, scheduler: Scheduler, spec_hash: str) -> JsonObject:
    pod = build_head_template(context)
    pod["metadata"]["annotations"] |= {
        labels.SPEC_HASH: spec_hash,
        labels.OPERATOR_VERSION: context.settings.operator_version,
    }
    scheduler.mark_pod(pod, context, labels.HEAD_GROUP)
    return pod


def _build_group(context: BuildContext, scheduler: Scheduler, group: WorkerGroupSpec) -> DesiredGroup:
    pod = build_worker_template(context, group)
    scheduler.mark_pod(pod, context, group.group_name)
    strategy = group.scale_strategy
    return DesiredGroup(
        name=group.group_name,
        template=pod,
        name_prefix=worker_pod_prefix(context.name, group.group_name),
        replicas=clamped_replicas(group),
        hosts=hosts(group),
        suspended=bool(group.suspend),
        workers_to_delete=tuple((strategy and strategy.workers_to_delete) or ()),
    )
