"""How a Job finds its own Pods: labels and a selector that the server makes from its uid and name.

A Job with ``manualSelector`` brings its own; a Job that brings a selector without saying so is refused by its rules.
"""

from heliostat.kube.jsontree import JsonObject

GENERATED = (("controller-uid", "uid"), ("job-name", "name"))
PREFIXED = (("batch.kubernetes.io/controller-uid", "uid"), ("batch.kubernetes.io/job-name", "name"))
_SELECTED_BY = "batch.kubernetes.io/controller-uid"


def has_generated_labels(job: JsonObject) -> bool:
    """Whether all its labels were made from its uid and name: they are judged where its template has them."""
    made = {key: job["metadata"].get(source, "") for key, source in (*GENERATED, *PREFIXED)}
    return (job["metadata"].get("labels") or {}) == made


def label_new_job(job: JsonObject) -> None:
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    labels = template.setdefault("labels", {})
    for key, source in (*GENERATED, *PREFIXED):
        labels.setdefault(key, metadata.get(source, ""))
    selector = spec.get("selector")
    if selector is None:
        selector = spec["selector"] = {}
    matched = selector.setdefault("matchLabels", {})
    matched.setdefault(_SELECTED_BY, metadata.get("uid", ""))
    metadata["labels"] = dict(metadata.get("labels") or labels)
