"""The writes of the Job controller as actions: each from the version that was looked at, each with its words."""

import msgspec

from heliostat.embedded.controllers.jobs.pod_facts import TRACKING_FINALIZER
from heliostat.embedded.controllers.jobs.reports import report_create, report_delete
from heliostat.embedded.controllers.views.jobs import JOB, Job, JobStatus
from heliostat.embedded.controllers.views.pods import POD, Pod
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Create, Delete, Patch, Ref, WriteStatus


def create_pod(tree: JsonObject) -> Create:
    return Create(tree, "too few Pods are at work", report_create(tree["metadata"]["name"]))


def delete_pod(pod: Pod, because: str) -> Delete:
    return Delete(_pod_ref(pod), pod.metadata.uid, because, report=report_delete(pod.metadata.name))


def check_pod(pod: Pod) -> Patch:
    """Changes nothing, and fails when the Pod is not what the view shows."""
    because = "the view of Pods is older than that of the Job: it may have been counted since"
    return Patch(_pod_ref(pod), pod.metadata.uid, pod.metadata.resource_version, {}, because)


def release_pod(pod: Pod, because: str) -> Patch:
    """Takes the tracking finalizer off."""
    metadata = pod.metadata
    others = [finalizer for finalizer in metadata.finalizers if finalizer != TRACKING_FINALIZER]
    changes: JsonObject = {"metadata": {"finalizers": others or None}}
    return Patch(_pod_ref(pod), metadata.uid, metadata.resource_version, changes, because)


def write_status(job: Job, status: JobStatus) -> WriteStatus:
    tree: JsonObject = msgspec.json.decode(msgspec.json.encode(status))  # lists, as every other tree has them
    return WriteStatus(job_ref(job), job.metadata.uid, job.metadata.resource_version, tree, "it is how the Pods are")


def job_ref(job: Job) -> Ref:
    return Ref(JOB.api_version, JOB.kind, job.metadata.namespace, job.metadata.name)


def _pod_ref(pod: Pod) -> Ref:
    return Ref(POD.api_version, POD.kind, pod.metadata.namespace, pod.metadata.name)
