"""What kube-apiserver fills into the kinds that make Pods: from Deployment to CronJob."""

from heliostat.embedded.kinds.pods.pod_defaults import fill_template
from heliostat.kube.jsontree import JsonObject

HISTORY = 10
ROLLING = "RollingUpdate"
_MOST_RETRIES = 2147483647


def fill_deployment(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    fill_template(spec.get("template"))
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", ROLLING) == ROLLING:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", HISTORY)
    spec.setdefault("progressDeadlineSeconds", 600)


def fill_replica_set(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    fill_template(spec.get("template"))
    spec.setdefault("replicas", 1)


def fill_replication_controller(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    fill_template(spec.get("template"))
    spec.setdefault("replicas", 1)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not tree["metadata"].get("labels"):
            tree["metadata"]["labels"] = dict(labels)


def fill_stateful_set(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    fill_template(spec.get("template"))
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if "type" not in strategy:
        strategy["type"] = ROLLING
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == ROLLING and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", HISTORY)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("apiVersion", "v1")
        claim["spec"].setdefault("volumeMode", "Filesystem")
        claim["status"].setdefault("phase", "Pending")


def fill_daemon_set(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    fill_template(spec.get("template"))
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", ROLLING) == ROLLING:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", HISTORY)


def fill_job(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    _fill_job_spec(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MOST_RETRIES if "backoffLimitPerIndex" in spec else 6)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not tree["metadata"].get("labels"):
        tree["metadata"]["labels"] = labels  # the same ones: a new Job's template gets more, and so does the Job
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


def _fill_job_spec(spec: JsonObject) -> None:
    """What a Job has in common with the template of a CronJob."""
    fill_template(spec.get("template"))
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"


def fill_cron_job(tree: JsonObject) -> None:
    spec = tree.setdefault("spec", {})
    _fill_job_spec(spec.setdefault("jobTemplate", {}).setdefault("spec", {}))
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)


def fill_pod_template(tree: JsonObject) -> None:
    fill_template(tree.get("template"))
