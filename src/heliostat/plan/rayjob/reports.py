"""What people are told about each write of a RayJob: KubeRay's events (rayjob.md §18), as data."""

from heliostat.kube.plan import Event, Ref, Report
from heliostat.plan.own_conditions import SPEC_NOT_APPLIED
from heliostat.plan.reports import COLON, NORMAL, WARNING, place_of_ref, report_write

COMMA = ", "  # KubeRay: before the error of a Service, and only there


def report_cluster_create(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return report_write("Create", "RayCluster", f"Created RayCluster {place}", f"Failed to create RayCluster {place}")


def report_cluster_delete(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return report_write("Delete", "RayCluster", f"Deleted cluster {place}", f"Failed to delete cluster {place}")


def report_workers_suspended(ref: Ref) -> Report:
    place = place_of_ref(ref)
    done = f"Set the `suspend` field to true for all worker groups in cluster {place}"
    return report_write("Update", "RayCluster", done, f"Failed to suspend worker groups in cluster {place}")


def report_submitter_create(ref: Ref) -> Report:
    place = place_of_ref(ref)
    failed = f"Failed to create new Kubernetes Job {place}"
    return report_write("Create", "RayJobSubmitter", f"Created Kubernetes Job {place}", failed)


def report_submitter_delete(ref: Ref) -> Report:
    place = place_of_ref(ref)
    failed = f"Failed to delete submitter K8s Job {place}"
    return report_write("Delete", "RayJobSubmitter", f"Deleted submitter K8s Job {place}", failed)


def report_service_create(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return report_write(
        "Create", "Service", f"Created the service {place}", f"Failed to create the service {place}", COMMA
    )


def report_service_update(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return report_write(
        "Update", "Service", f"Updated the service {place}", f"Failed to update the service {place}", COMMA
    )


def cluster_not_found(place: str) -> Event:
    note = f"RayCluster {place} set in the clusterSelector is not found. It must be created manually"
    return Event(WARNING, "RayClusterNotFound", "Validate", note)


def report_scheduler_cleanup(place: str) -> Report:
    what = f"batch scheduler resources for RayJob {place}"
    return Report(
        success=Event(NORMAL, "BatchSchedulerCleanedUp", "Cleanup", f"Cleaned up {what}"),
        failure=Event(WARNING, "FailedToCleanupBatchScheduler", "Cleanup", f"Failed to cleanup {what}"),
        separator=COLON,
    )


def still_initializing(what: str) -> Event:
    """Differs from KubeRay: rayjob-slow-start."""
    return Event(WARNING, "StillInitializing", "Wait", what)


def spec_not_applied(what: str) -> Event:
    """Differs from KubeRay: rayjob-spec-not-applied."""
    return Event(WARNING, SPEC_NOT_APPLIED, "Validate", what)
