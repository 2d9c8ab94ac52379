"""Which kinds warn of what, when they are made, when they are changed, and when their status is.

A template is looked at again only when the change makes a new generation.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.kinds.cautions import small_kinds as small
from heliostat.embedded.kinds.cautions.amounts import claim_spec_cautions
from heliostat.embedded.kinds.cautions.finalizers import finalizer_cautions
from heliostat.embedded.kinds.cautions.pods import pod_cautions
from heliostat.embedded.kinds.cautions.tls import secret_cautions
from heliostat.embedded.kinds.rules.name_rules import dns1123_label_problems
from heliostat.kube.jsontree import JsonObject

OnNew: TypeAlias = Callable[[JsonObject], Iterator[str]]
OnChange: TypeAlias = Callable[[JsonObject, JsonObject], Iterator[str]]

_TRACKED, _PARALLEL = 100_000, 10_000  # what an Indexed Job can keep count of


class Cautions(Struct, frozen=True, kw_only=True):
    new: OnNew | None = None
    changed: OnChange | None = None
    status: OnNew | None = None


def new_object_cautions(tree: JsonObject, storage_name: str, *, is_custom: bool = False) -> Iterable[str]:
    """Found as they are asked for: there may be more of them than anybody is told."""
    if is_custom:
        return finalizer_cautions(tree)
    rule = CAUTIONS.get(storage_name, _NONE).new
    return rule(tree) if rule is not None else ()


def changed_object_cautions(
    tree: JsonObject, old: JsonObject, storage_name: str, subresource: str, *, is_custom: bool = False
) -> Iterable[str]:
    if is_custom:
        return () if subresource else finalizer_cautions(tree, old)
    cautions = CAUTIONS.get(storage_name, _NONE)
    if subresource == "status":
        return cautions.status(tree) if cautions.status is not None else ()
    if subresource or cautions.changed is None:
        return ()
    return cautions.changed(tree, old)


def _name_cautions(tree: JsonObject, used_in: str = "Pod names and hostnames") -> Iterator[str]:
    problems = dns1123_label_problems(tree["metadata"].get("name", ""))
    if problems:
        yield (
            f"metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is"
            f" recommended: [{' '.join(problems)}]"
        )


def _new_pod(pod: JsonObject) -> Iterator[str]:
    yield from _name_cautions(pod, "the Pod's hostname")
    yield from pod_cautions(pod)


def _template(tree: JsonObject) -> Iterator[str]:
    yield from pod_cautions((tree.get("spec") or {}).get("template") or {}, "spec.template")


def _job_spec(spec: JsonObject, path: str) -> Iterator[str]:
    is_indexed = spec.get("completionMode") == "Indexed"
    if is_indexed and spec.get("completions", 0) > _TRACKED and spec.get("parallelism", 0) > _PARALLEL:
        yield (
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4,"
            " Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    yield from pod_cautions(spec.get("template") or {}, f"{path}.template")


def _job(tree: JsonObject) -> Iterator[str]:
    yield from _job_spec(tree["spec"], "spec")


def _cron_job(tree: JsonObject) -> Iterator[str]:
    yield from _job_spec((tree["spec"].get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")


def _changed_cron_job(tree: JsonObject, old: JsonObject) -> Iterator[str]:
    yield from _when_counted(_cron_job)(tree, old)
    if "TZ" in tree["spec"].get("schedule", ""):
        more = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        yield f"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see {more}"


def _stateful_parts(tree: JsonObject, part: str) -> Iterator[str]:
    spec = tree["spec"]
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        yield from claim_spec_cautions(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}]{part}")
    if spec.get("revisionHistoryLimit", 0) < 0:
        why = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {why}"


def _stateful_set(tree: JsonObject) -> Iterator[str]:
    yield from _template(tree)
    yield from _stateful_parts(tree, "")


def _changed_stateful_set(tree: JsonObject, old: JsonObject) -> Iterator[str]:
    yield from _when_counted(_template)(tree, old)
    yield from _stateful_parts(tree, ".Spec")


def _changed_daemon_set(tree: JsonObject, old: JsonObject) -> Iterator[str]:
    if tree["spec"].get("template") != old["spec"].get("template"):
        yield from _template(tree)


def _changed_replication_controller(tree: JsonObject, old: JsonObject) -> Iterator[str]:
    """kube-apiserver looks at the template that is replaced."""
    if tree["metadata"].get("generation") != old["metadata"].get("generation"):
        yield from _template(old)


def _pod_template(tree: JsonObject) -> Iterator[str]:
    yield from pod_cautions(tree.get("template") or {}, "template")


def _when_counted(rule: OnNew) -> OnChange:
    def cautions(tree: JsonObject, old: JsonObject) -> Iterator[str]:
        if tree["metadata"].get("generation") != old["metadata"].get("generation"):
            yield from rule(tree)

    return cautions


def _always(rule: OnNew, status: OnNew | None = None) -> Cautions:
    return Cautions(new=rule, changed=lambda tree, _old: rule(tree), status=status)


def _named(rule: OnNew) -> OnNew:
    def cautions(tree: JsonObject) -> Iterator[str]:
        yield from _name_cautions(tree)
        yield from rule(tree)

    return cautions


_NONE = Cautions()
CAUTIONS: dict[str, Cautions] = {
    "pods": Cautions(new=_new_pod, status=small.pod_status_cautions),
    "podtemplates": Cautions(new=_pod_template, changed=_when_counted(_pod_template)),
    "replicationcontrollers": Cautions(new=_named(_template), changed=_changed_replication_controller),
    "deployments.apps": Cautions(new=_named(_template), changed=_when_counted(_template)),
    "replicasets.apps": Cautions(new=_named(_template), changed=_when_counted(_template)),
    "statefulsets.apps": Cautions(new=_stateful_set, changed=_changed_stateful_set),
    "daemonsets.apps": Cautions(new=_template, changed=_changed_daemon_set),
    "jobs.batch": Cautions(new=_named(_job), changed=_when_counted(_job)),
    "cronjobs.batch": Cautions(new=_named(_cron_job), changed=_changed_cron_job),
    "services": _always(small.service_cautions, small.balancer_cautions),
    "secrets": _always(secret_cautions),
    "persistentvolumeclaims": _always(small.claim_cautions),
    "persistentvolumes": _always(small.volume_object_cautions),
    "nodes": _always(small.node_cautions),
    "endpoints": _always(small.endpoints_cautions),
    "serviceaccounts": Cautions(new=small.account_cautions, changed=small.account_cautions),
    "networkpolicies.networking.k8s.io": _always(small.network_policy_cautions),
    "ingresses.networking.k8s.io": Cautions(new=small.ingress_cautions, status=small.balancer_cautions),
    "endpointslices.discovery.k8s.io": Cautions(
        new=small.new_endpoint_slice_cautions, changed=lambda tree, _old: small.endpoint_slice_cautions(tree)
    ),
    "runtimeclasses.node.k8s.io": _always(small.runtime_class_cautions),
    "storageclasses.storage.k8s.io": _always(small.storage_class_cautions),
    "csistoragecapacities.storage.k8s.io": _always(small.capacity_cautions),
}
