"""What people are told about each write to a RayCluster's Pods and parts: KubeRay's events (constants.md §14), as data.

The tags of failures are the reasons that a ReplicaFailure condition shows.
"""

from heliostat.kube.plan import Event, Ref, Report
from heliostat.kube.pods import PodView, Terminated
from heliostat.plan.raycluster.pod_health import ray_termination
from heliostat.plan.reports import COLON, NORMAL, POLICY_REPORTER, WARNING, of_side_controller, place_of_ref

TLS_REPORTER = "raycluster-mtls-controller"  # its name in events

DELETE_ALL_FAILED = "FailedDeleteAllPods"
DELETE_HEAD_FAILED = "FailedDeleteHeadPod"
CREATE_HEAD_FAILED = "FailedCreateHeadPod"
DELETE_WORKER_FAILED = "FailedDeleteWorkerPod"
CREATE_WORKER_FAILED = "FailedCreateWorkerPod"


def report_ingress_update(ref: Ref) -> Report:
    return Report(
        success=Event(NORMAL, "UpdatedIngress", "Update", f"Updated ingress {place_of_ref(ref)}"),
        failure=Event(WARNING, "FailedToUpdateIngress", "Update", f"Failed updating ingress {place_of_ref(ref)}"),
    )


def report_policy(verb: str, ref: Ref) -> Report:
    """``verb`` is Update or Delete."""
    failed = f"Failed to {verb.lower()} NetworkPolicy {place_of_ref(ref)}"
    report = Report(
        success=Event(NORMAL, f"{verb}dNetworkPolicy", verb, f"{verb}d NetworkPolicy {place_of_ref(ref)}"),
        failure=Event(WARNING, f"FailedTo{verb}NetworkPolicy", verb, failed),
    )
    return of_side_controller(report, POLICY_REPORTER)


def tell_of_certificates(type_: str, reason: str, action: str, note: str) -> Event:
    return Event(type_, reason, action, note, reporter=TLS_REPORTER)


def report_certificate_step(what: str) -> Report:
    return Report(failure=certificate_step_failed(what), separator=COLON)


def certificate_step_failed(what: str, why: str = "") -> Event:
    note = f"Failed to reconcile mTLS {what}" + (f"{COLON}{why}" if why else "")
    return tell_of_certificates(WARNING, "MTLSFailedToReconcile", "Reconcile", note)


def report_head_create(place: str) -> Report:
    return Report(
        success=Event(NORMAL, "CreatedHeadPod", "Create", f"Created head Pod {place}"),
        failure=Event(WARNING, "FailedToCreateHeadPod", "Create", f"Failed to create head Pod {place}"),
        failure_tag=CREATE_HEAD_FAILED,
    )


def report_worker_create(place: str, cluster: str) -> Report:
    failed = f"Failed to create worker Pod for the cluster {cluster}"
    return Report(
        success=Event(NORMAL, "CreatedWorkerPod", "Create", f"Created worker Pod {place}"),
        failure=Event(WARNING, "FailedToCreateWorkerPod", "Create", failed),
        failure_tag=CREATE_WORKER_FAILED,
    )


def report_unhealthy_head(pod: PodView) -> Report:
    rest = f"head Pod {place_of(pod)}; {describe_end(pod)}"
    return Report(
        success=Event(NORMAL, "DeletedHeadPod", "Delete", f"Deleted {rest}"),
        failure=Event(WARNING, "FailedToDeleteHeadPod", "Delete", f"Failed deleting {rest}"),
        failure_tag=DELETE_HEAD_FAILED,
    )


def report_unhealthy_worker(pod: PodView) -> Report:
    rest = f"worker Pod {place_of(pod)}; {describe_end(pod)}"
    return _worker_deleted(f"Deleted {rest}", f"Failed deleting {rest}")


def report_asked_worker(pod: PodView) -> Report:
    return _worker_deleted(f"Deleted pod {place_of(pod)}", f"Failed deleting pod {place_of(pod)}")


def report_surplus_worker(pod: PodView) -> Report:
    return _worker_deleted(f"Deleted Pod {place_of(pod)}", f"Failed deleting Pod {place_of(pod)}")


def report_replica_pod(pod: PodView, group: str, why: str) -> Report:
    rest = f"worker Pod {place_of(pod)} for group {group}"
    return _worker_deleted(f"Deleted {rest}: {why}", f"Failed deleting {rest}; {describe_end(pod)}")


def report_removed_group(pod: PodView, group: str) -> Report:
    rest = f"worker Pod {place_of(pod)}: worker group {group} is no longer in the spec"
    return _worker_deleted(f"Deleted {rest}", f"Failed deleting {rest}")


def _worker_deleted(done: str, failed: str) -> Report:
    return Report(
        success=Event(NORMAL, "DeletedWorkerPod", "Delete", done),
        failure=Event(WARNING, "FailedToDeleteWorkerPod", "Delete", failed),
        failure_tag=DELETE_WORKER_FAILED,
    )


def report_suspension(cluster: str) -> Report:
    return Report(
        success=Event(NORMAL, "DeletedPod", "Delete", f"Deleted Pods for RayCluster {cluster} due to suspension"),
        failure=_collection_failed(f"Failed deleting Pods due to suspension for RayCluster {cluster}"),
        failure_tag=DELETE_ALL_FAILED,
    )


def report_recreate(cluster: str) -> Report:
    cause = "due to spec change with Recreate upgradeStrategy"
    return Report(
        success=Event(NORMAL, "DeletedPod", "Delete", f"Deleted all Pods for RayCluster {cluster} {cause}"),
        failure=_collection_failed(f"Failed deleting Pods {cause} for RayCluster {cluster}"),
        failure_tag=DELETE_ALL_FAILED,
    )


def report_group_suspension(group: str, cluster: str) -> Report:
    done = f"Deleted all pods for suspended worker group {group} in RayCluster {cluster}"
    failed = f"Failed deleting worker Pods for suspended group {group} in RayCluster {cluster}"
    return Report(
        success=Event(NORMAL, "DeletedWorkerPod", "Delete", done),
        failure=Event(WARNING, "FailedToDeleteWorkerPodCollection", "Delete", failed),
        failure_tag=DELETE_WORKER_FAILED,
    )


def only_failure(report: Report) -> Report:
    """For all but the last of several writes that are told as one."""
    return Report(failure=report.failure, failure_tag=report.failure_tag)


def _collection_failed(note: str) -> Event:
    return Event(WARNING, "FailedToDeletePodCollection", "Delete", note)


def describe_end(pod: PodView) -> str:
    ended = ray_termination(pod)
    return (
        f"Pod status: {pod.phase}; Pod restart policy: {pod.restart_policy}; "
        f"Ray container terminated status: {'nil' if ended is None else _dump(ended)}"
    )


def _dump(ended: Terminated) -> str:
    """KubeRay: R5-72, the state is told as Go prints the struct."""
    return (
        f"&ContainerStateTerminated{{ExitCode:{ended.exit_code},Signal:{ended.signal},Reason:{ended.reason},"
        f"Message:{ended.message},StartedAt:{ended.started_at or ''},FinishedAt:{ended.finished_at or ''},"
        f"ContainerID:{ended.container_id},}}"
    )


def place_of(pod: PodView) -> str:
    return f"{pod.namespace}/{pod.name}"
