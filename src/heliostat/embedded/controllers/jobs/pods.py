"""The Pods of a Job, built from its template.

Every Pod gets the tracking finalizer and the Job as its controller. A Pod of an Indexed Job also knows its index: as
annotation, label, host name and environment variable.
"""

from typing import Any

from heliostat.embedded.controllers.jobs.pod_facts import COMPLETION_INDEX, TRACKING_FINALIZER
from heliostat.embedded.controllers.jobs.pod_names import PodNames, build_prefix
from heliostat.embedded.controllers.jobs.replacement import build_failure_counts
from heliostat.embedded.controllers.views.jobs import JOB, Job
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.jsontree import JsonObject

_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"


class PodBuilder:
    """Stamps the Pods of one plan; the spec is made once and shared by all of them."""

    def __init__(self, job: Job, names: PodNames) -> None:
        self._job = job
        self._names = names
        self._metadata: JsonObject = job.spec.template.get("metadata") or {}
        self._spec = _template_spec(job)

    def build(self, index: int | None = None, replaced: Pod | None = None) -> JsonObject:
        prefix = build_prefix(self._job.metadata.name, index)
        labels, annotations = self._marks("labels"), self._marks("annotations")
        spec = self._spec
        if index is not None:
            labels |= {COMPLETION_INDEX: str(index)}
            annotations |= {COMPLETION_INDEX: str(index), **build_failure_counts(self._job, replaced)}
            spec = {**spec, "hostname": f"{self._job.metadata.name}-{index}"}
        metadata: JsonObject = {
            "generateName": prefix,
            "name": self._names.name(prefix),
            "namespace": self._job.metadata.namespace,
            "labels": labels,
            **({"annotations": annotations} if annotations else {}),
            "finalizers": self._finalizers(),
            "ownerReferences": [build_owner(self._job)],
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def _marks(self, name: str) -> dict[str, str]:
        return dict(self._metadata.get(name) or {})

    def _finalizers(self) -> list[str]:
        return list(dict.fromkeys((*(self._metadata.get("finalizers") or ()), TRACKING_FINALIZER)))


def build_owner(job: Job) -> JsonObject:
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _template_spec(job: Job) -> JsonObject:
    spec: JsonObject = job.spec.template.get("spec") or {}
    if not job.is_indexed:
        return spec
    kinds = ("initContainers", "containers")
    return {**spec, **{kind: [_with_index(each) for each in spec[kind]] for kind in kinds if spec.get(kind)}}


def _with_index(container: JsonObject) -> JsonObject:
    env: list[dict[str, Any]] = container.get("env") or []
    if any(variable.get("name") == _INDEX_VARIABLE for variable in env):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    return {**container, "env": [*env, {"name": _INDEX_VARIABLE, "valueFrom": source}]}
