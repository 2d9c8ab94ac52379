"""Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers.

All of them own Pods by a selector: it is there, is not empty, matches the template, and never changes.
"""

from collections.abc import Iterator

from heliostat.embedded.kinds.object_metadata import annotation_causes
from heliostat.embedded.kinds.pods.pod_validation import template_causes
from heliostat.embedded.kinds.rules.causes import (
    changed,
    each_invalid,
    forbidden,
    invalid,
    negative,
    not_supported,
    required,
    show,
)
from heliostat.embedded.kinds.rules.label_rules import is_empty_selector, label_causes, read_selector, selector_causes
from heliostat.embedded.kinds.rules.name_rules import dns1123_label_problems
from heliostat.embedded.kinds.volumes.claim_validation import claim_spec_causes
from heliostat.embedded.kinds.workloads.rollout_validation import (
    daemon_strategy_causes,
    deployment_strategy_causes,
    stateful_strategy_causes,
)
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_TEMPLATE = "spec.template"
_DAEMON_LIMIT = "must be greater than minReadySeconds"
_STATEFUL_MAY_CHANGE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_FREE = frozenset(
    {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
     "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}
)  # fmt: skip


# What is said of a selector that cannot be read, beyond what is wrong in it.
_UNREADABLE = {"deployment": "invalid label selector", "replicaset": "invalid label selector", "statefulset": ""}


def _selector_and_template(spec: JsonObject, kind: str) -> Iterator[Cause]:
    selector = spec.get("selector")
    if selector is None:
        if kind != "daemonset":
            yield required("spec.selector")
    else:
        yield from selector_causes(selector, "spec.selector")
        if is_empty_selector(selector):
            name = "deployment" if kind == "replicaset" else kind
            yield invalid("spec.selector", selector, f"empty selector is invalid for {name}")
    chosen = read_selector(selector)
    if chosen is None:
        if kind in _UNREADABLE:
            shown = f"Invalid value: {show(selector)}"
            why = f"{shown}: {_UNREADABLE[kind]}" if _UNREADABLE[kind] else shown
            yield Cause("FieldValueInvalid", why, "spec.selector")
        if kind != "daemonset":
            return
    template = spec.get("template")
    if template is None:
        yield required(_TEMPLATE)
        return
    labels = (template.get("metadata") or {}).get("labels")
    if chosen is not None and not chosen.matches(labels):
        why = "`selector` does not match template `labels`"
        yield invalid(f"{_TEMPLATE}.metadata.labels", labels, why)
    yield from template_causes(template, _TEMPLATE)
    if kind == "statefulset":  # which judges these twice
        metadata = template.get("metadata") or {}
        yield from label_causes(labels, f"{_TEMPLATE}.labels")
        yield from annotation_causes(metadata.get("annotations"), f"{_TEMPLATE}.annotations")
    yield from _runs_for_ever(template, kind)


def _runs_for_ever(template: JsonObject, kind: str) -> Iterator[Cause]:
    spec = template.get("spec") or {}
    if spec.get("restartPolicy") != "Always":
        yield not_supported(f"{_TEMPLATE}.spec.restartPolicy", spec.get("restartPolicy", ""), ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        name = {"deployment": "ReplicaSet", "statefulset": "StatefulSet", "daemonset": "DaemonSet"}.get(
            kind, "ReplicaSet"
        )
        why = f"activeDeadlineSeconds in {name} is not Supported"
        yield forbidden(f"{_TEMPLATE}.spec.activeDeadlineSeconds", why)


def deployment_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree["spec"]
    yield from negative("spec.replicas", spec.get("replicas"))
    yield from _selector_and_template(spec, "deployment")
    yield from deployment_strategy_causes(spec.get("strategy") or {})
    ready = spec.get("minReadySeconds", 0)
    yield from negative("spec.minReadySeconds", ready)
    yield from negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        yield from negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= ready:
            yield invalid("spec.progressDeadlineSeconds", deadline, _DAEMON_LIMIT)


def changed_deployment_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from deployment_causes(tree)
    yield from _same_selector(tree, old)


def _same_selector(tree: JsonObject, old: JsonObject) -> list[Cause]:
    return changed("spec.selector", tree["spec"].get("selector"), old["spec"].get("selector"))


def replica_set_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree["spec"]
    yield from negative("spec.replicas", spec.get("replicas"))
    yield from negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from _selector_and_template(spec, "replicaset")


def changed_replica_set_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from replica_set_causes(tree)
    yield from _same_selector(tree, old)


def replication_controller_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree["spec"]
    yield from negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    selector = spec.get("selector") or {}
    if not selector:
        yield required("spec.selector")
    yield from negative("spec.replicas", spec.get("replicas"))
    template = spec.get("template")
    if template is None:
        yield required(_TEMPLATE)
        return
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and not selector.items() <= labels.items():
        why = "`selector` does not match template `labels`"
        yield invalid(f"{_TEMPLATE}.metadata.labels", labels, why)
    yield from template_causes(template, _TEMPLATE)
    yield from _runs_for_ever(template, "replicationcontroller")


def daemon_set_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree["spec"]
    yield from _selector_and_template(spec, "daemonset")
    yield from negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from daemon_strategy_causes(spec.get("updateStrategy") or {})
    yield from negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def changed_daemon_set_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from _same_selector(tree, old)
    yield from daemon_set_causes(tree)


def stateful_set_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from _stateful_spec(tree["spec"], is_new=True)


def _stateful_spec(spec: JsonObject, *, is_new: bool) -> Iterator[Cause]:
    policy = spec.get("podManagementPolicy", "")
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from stateful_strategy_causes(spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for name in ("whenDeleted", "whenScaled"):
        if retention.get(name, "Retain") not in ("Retain", "Delete"):
            path = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            yield not_supported(path, retention[name], ("Retain", "Delete"))
    if is_new:
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            yield from claim_spec_causes(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    yield from negative("spec.replicas", spec.get("replicas"))
    yield from negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    if "ordinals" in spec:
        yield from negative("spec.ordinals.start", spec["ordinals"].get("start"))
    service = spec.get("serviceName", "")
    if is_new and service:
        yield from each_invalid("spec.serviceName", service, dns1123_label_problems(service))
    yield from _selector_and_template(_with_claims(spec), "statefulset")


def _with_claims(spec: JsonObject) -> JsonObject:
    """The template's volumes as its Pods will have them: a claim for each claim template."""
    claims = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    template = spec.get("template")
    if not claims or template is None:
        return spec
    pod = template.get("spec") or {}
    made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    others = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    return {**spec, "template": {**template, "spec": {**pod, "volumes": [*made, *others]}}}


def changed_stateful_set_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from _stateful_spec(tree["spec"], is_new=False)
    fixed, before = (
        {key: value for key, value in spec.items() if key not in _STATEFUL_FREE} for spec in (tree["spec"], old["spec"])
    )
    if fixed != before:
        yield forbidden("spec", _STATEFUL_MAY_CHANGE)
