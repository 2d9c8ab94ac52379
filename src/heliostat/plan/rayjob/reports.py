"""What people are told about each write of a RayJob: KubeRay's events (rayjob.md §18), as data."""

from heliostat.kube.plan import Event, Ref, Report
from heliostat.plan.own_conditions import SPEC_NOT_APPLIED
from heliostat.plan.reports import COLON, NORMAL, WARNING, place_of_ref


def _report(verb: str, reason: str, done: str, failed: str) -> Report:
    """``verb`` is Create, Update or Delete; ``reason`` the object in the event's reason."""
    return Report(
        success=Event(NORMAL, f"{verb}d{reason}", verb, done),
        failure=Event(WARNING, f"FailedTo{verb}{reason}", verb, failed),
        separator=COLON,
    )


def report_cluster_create(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return _report("Create", "RayCluster", f"Created RayCluster {place}", f"Failed to create RayCluster {place}")


def report_cluster_delete(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return _report("Delete", "RayCluster", f"Deleted cluster {place}", f"Failed to delete cluster {place}")


def report_workers_suspended(ref: Ref) -> Report:
    what = f"the `suspend` field to true for all worker groups in cluster {place_of_ref(ref)}"
    return _report("Update", "RayCluster", f"Set {what}", f"Failed to set {what}")


def report_submitter_create(ref: Ref) -> Report:
    place = place_of_ref(ref)
    failed = f"Failed to create new Kubernetes Job {place}"
    return _report("Create", "RayJobSubmitter", f"Created Kubernetes Job {place}", failed)


def report_submitter_delete(ref: Ref) -> Report:
    place = place_of_ref(ref)
    failed = f"Failed to delete submitter K8s Job {place}"
    return _report("Delete", "RayJobSubmitter", f"Deleted submitter K8s Job {place}", failed)


def report_service_create(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return _report("Create", "Service", f"Created the service {place}", f"Failed to create the service {place}")


def report_service_update(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return _report("Update", "Service", f"Updated the service {place}", f"Failed to update the service {place}")


def cluster_not_found(place: str) -> Event:
    note = f"RayCluster {place} set in the clusterSelector is not found. It must be created manually"
    return Event(WARNING, "RayClusterNotFound", "Validate", note)


def report_scheduler_cleanup(place: str) -> Report:
    return Report(
        success=Event(NORMAL, "BatchSchedulerCleanedUp", "Cleanup", f"Cleaned up the gang of RayJob {place}"),
        failure=Event(
            WARNING, "FailedToCleanupBatchScheduler", "Cleanup", f"Failed to clean up the gang of RayJob {place}"
        ),
        separator=COLON,
    )


def spec_not_applied(what: str) -> Event:
    """Differs from KubeRay: rayjob-spec-not-applied."""
    return Event(WARNING, SPEC_NOT_APPLIED, "Validate", what)
