"""The rules of each built-in kind, by the store's name for it: what is filled in, what is made, what is refused.

``fill_in`` runs when an object is read from a request; ``start`` makes the parts that only the server gives to a new
object, ``keep`` puts back what a change may not touch; ``check_new``, ``check_changed`` and ``check_status`` yield what
is wrong. A kind without an entry has no rules beyond its types and its metadata.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.kinds import small_defaults as small
from heliostat.embedded.kinds.data_validation import (
    changed_config_map_causes,
    changed_secret_causes,
    config_map_causes,
    secret_causes,
)
from heliostat.embedded.kinds.event_validation import changed_event_causes, event_causes
from heliostat.embedded.kinds.network.endpoint_validation import (
    changed_endpoint_slice_causes,
    endpoint_slice_causes,
    endpoints_causes,
)
from heliostat.embedded.kinds.network.ingress_validation import ingress_causes, ingress_class_causes, new_ingress_causes
from heliostat.embedded.kinds.network.network_policy_validation import network_policy_causes
from heliostat.embedded.kinds.network.service_defaults import fill_service
from heliostat.embedded.kinds.network.service_validation import changed_service_causes, new_service_causes
from heliostat.embedded.kinds.pods.pod_defaults import fill_pod
from heliostat.embedded.kinds.pods.pod_validation import (
    changed_pod_causes,
    new_pod_causes,
    pod_status_causes,
    template_causes,
)
from heliostat.embedded.kinds.quotas.limit_range_validation import limit_range_causes
from heliostat.embedded.kinds.rbac_validation import (
    cluster_role_binding_causes,
    cluster_role_causes,
    role_binding_causes,
    role_causes,
    same_role_causes,
)
from heliostat.embedded.kinds.small_validation import (
    autoscaler_causes,
    changed_node_causes,
    changed_priority_class_causes,
    changed_quota_causes,
    disruption_budget_causes,
    lease_causes,
    namespace_causes,
    namespace_status_causes,
    node_causes,
    priority_class_causes,
    quota_causes,
)
from heliostat.embedded.kinds.status_validation import (
    job_status_causes,
    replicas_status_causes,
    service_status_causes,
)
from heliostat.embedded.kinds.volumes.claim_validation import changed_claim_causes, new_claim_causes
from heliostat.embedded.kinds.volumes.storage_class_validation import changed_storage_class_causes, storage_class_causes
from heliostat.embedded.kinds.workloads import starts
from heliostat.embedded.kinds.workloads import workload_defaults as workloads
from heliostat.embedded.kinds.workloads.job_validation import (
    changed_cron_job_causes,
    changed_job_causes,
    new_cron_job_causes,
    new_job_causes,
)
from heliostat.embedded.kinds.workloads.workload_validation import (
    changed_daemon_set_causes,
    changed_deployment_causes,
    changed_replica_set_causes,
    changed_stateful_set_causes,
    daemon_set_causes,
    deployment_causes,
    replica_set_causes,
    replication_controller_causes,
    stateful_set_causes,
)
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

FillIn: TypeAlias = Callable[[JsonObject], None]
Start: TypeAlias = Callable[[JsonObject], None]
Keep: TypeAlias = Callable[[JsonObject, JsonObject], None]
CheckNew: TypeAlias = Callable[[JsonObject], Iterator[Cause]]
CheckChanged: TypeAlias = Callable[[JsonObject, JsonObject], Iterator[Cause]]


class KindRules(Struct, frozen=True, kw_only=True):
    fill_in: FillIn | None = None
    start: Start | None = None
    keep: Keep | None = None  # what the main door cannot change, put back
    check_new: CheckNew | None = None
    check_changed: CheckChanged | None = None  # absent: what holds for a new one holds for a changed one
    check_status: CheckChanged | None = None


NO_RULES = KindRules()


def rules_of(storage_name: str) -> KindRules:
    return RULES.get(storage_name, NO_RULES)


def changed_causes(rules: KindRules, new: JsonObject, old: JsonObject) -> Iterator[Cause]:
    if rules.check_changed is not None:
        yield from rules.check_changed(new, old)
    elif rules.check_new is not None:
        yield from rules.check_new(new)


def _twice(check: CheckNew) -> CheckChanged:
    """A changed object is judged as a new one and then once more."""

    def causes(new: JsonObject, _old: JsonObject) -> Iterator[Cause]:
        yield from check(new)
        yield from check(new)

    return causes


def _binding_changes(check: CheckNew) -> CheckChanged:
    def causes(new: JsonObject, old: JsonObject) -> Iterator[Cause]:
        yield from _twice(check)(new, old)
        yield from same_role_causes(new, old)

    return causes


_RBAC = "rbac.authorization.k8s.io"
RULES: dict[str, KindRules] = {
    "pods": KindRules(
        fill_in=fill_pod,
        start=starts.start_pod,
        check_new=new_pod_causes,
        check_changed=changed_pod_causes,
        check_status=pod_status_causes,
    ),
    "podtemplates": KindRules(
        fill_in=workloads.fill_pod_template,
        check_new=lambda tree: template_causes(tree.get("template") or {}, "template"),
    ),
    "services": KindRules(
        fill_in=fill_service,
        start=starts.start_service,
        check_new=new_service_causes,
        check_changed=changed_service_causes,
        check_status=service_status_causes,
    ),
    "jobs.batch": KindRules(
        fill_in=workloads.fill_job,
        start=starts.start_job,
        check_new=new_job_causes,
        check_changed=changed_job_causes,
        check_status=job_status_causes,
    ),
    "cronjobs.batch": KindRules(
        fill_in=workloads.fill_cron_job, check_new=new_cron_job_causes, check_changed=changed_cron_job_causes
    ),
    "deployments.apps": KindRules(
        fill_in=workloads.fill_deployment,
        check_new=deployment_causes,
        check_changed=changed_deployment_causes,
        check_status=replicas_status_causes,
    ),
    "replicasets.apps": KindRules(
        fill_in=workloads.fill_replica_set,
        start=starts.start_replicas,
        check_new=replica_set_causes,
        check_changed=changed_replica_set_causes,
        check_status=replicas_status_causes,
    ),
    "statefulsets.apps": KindRules(
        fill_in=workloads.fill_stateful_set,
        start=starts.start_replicas,
        check_new=stateful_set_causes,
        check_changed=changed_stateful_set_causes,
        check_status=replicas_status_causes,
    ),
    "daemonsets.apps": KindRules(
        fill_in=workloads.fill_daemon_set,
        start=starts.start_daemon_set,
        keep=starts.count_template,
        check_new=daemon_set_causes,
        check_changed=changed_daemon_set_causes,
    ),
    "replicationcontrollers": KindRules(
        fill_in=workloads.fill_replication_controller,
        start=starts.start_replicas,
        check_new=replication_controller_causes,
    ),
    "configmaps": KindRules(check_new=config_map_causes, check_changed=changed_config_map_causes),
    "secrets": KindRules(fill_in=small.fill_secret, check_new=secret_causes, check_changed=changed_secret_causes),
    "namespaces": KindRules(
        fill_in=small.fill_namespace,
        start=starts.start_namespace,
        keep=starts.keep_namespace,
        check_new=namespace_causes,
        check_status=namespace_status_causes,
    ),
    "nodes": KindRules(fill_in=small.fill_node, check_new=node_causes, check_changed=changed_node_causes),
    "events": KindRules(check_new=event_causes, check_changed=changed_event_causes),
    "persistentvolumeclaims": KindRules(
        fill_in=small.fill_claim, check_new=new_claim_causes, check_changed=changed_claim_causes
    ),
    "persistentvolumes": KindRules(fill_in=small.fill_volume_object, start=starts.start_volume),
    "limitranges": KindRules(fill_in=small.fill_limit_range, check_new=limit_range_causes),
    "resourcequotas": KindRules(check_new=quota_causes, check_changed=changed_quota_causes),
    "endpoints": KindRules(fill_in=small.fill_endpoints, check_new=endpoints_causes),
    "leases.coordination.k8s.io": KindRules(fill_in=small.fill_lease, check_new=lease_causes),
    "endpointslices.discovery.k8s.io": KindRules(
        fill_in=small.fill_endpoint_slice,
        check_new=endpoint_slice_causes,
        check_changed=changed_endpoint_slice_causes,
    ),
    "ingresses.networking.k8s.io": KindRules(
        check_new=new_ingress_causes, check_changed=lambda new, _old: ingress_causes(new)
    ),
    "ingressclasses.networking.k8s.io": KindRules(fill_in=small.fill_ingress_class, check_new=ingress_class_causes),
    "networkpolicies.networking.k8s.io": KindRules(
        fill_in=small.fill_network_policy,
        check_new=network_policy_causes,
        check_changed=_twice(network_policy_causes),
    ),
    "priorityclasses.scheduling.k8s.io": KindRules(
        fill_in=small.fill_priority_class,
        check_new=priority_class_causes,
        check_changed=changed_priority_class_causes,
    ),
    "poddisruptionbudgets.policy": KindRules(start=starts.start_budget, check_new=disruption_budget_causes),
    "storageclasses.storage.k8s.io": KindRules(
        fill_in=small.fill_storage_class,
        check_new=storage_class_causes,
        check_changed=changed_storage_class_causes,
    ),
    "csidrivers.storage.k8s.io": KindRules(fill_in=small.fill_driver),
    "horizontalpodautoscalers.autoscaling": KindRules(fill_in=small.fill_autoscaler, check_new=autoscaler_causes),
    f"roles.{_RBAC}": KindRules(check_new=role_causes, check_changed=_twice(role_causes)),
    f"clusterroles.{_RBAC}": KindRules(check_new=cluster_role_causes, check_changed=_twice(cluster_role_causes)),
    f"rolebindings.{_RBAC}": KindRules(
        fill_in=small.fill_binding,
        check_new=role_binding_causes,
        check_changed=_binding_changes(role_binding_causes),
    ),
    f"clusterrolebindings.{_RBAC}": KindRules(
        fill_in=small.fill_binding,
        check_new=cluster_role_binding_causes,
        check_changed=_binding_changes(cluster_role_binding_causes),
    ),
}
