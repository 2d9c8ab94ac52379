"""The events of a RayJob are in KubeRay's words (constants.md §14.4)."""

import pytest

from heliostat.kube.plan import Ref, Report
from heliostat.plan.rayjob import reports

PLACE = "ns/x"
REF = Ref("v1", "Any", "ns", "x")
WORDS: list[tuple[Report, str, str, str, str]] = [
    (
        reports.report_service_create(REF), "CreatedService", f"Created the service {PLACE}",
        "FailedToCreateService", f"Failed to create the service {PLACE}, why",
    ),
    (
        reports.report_service_update(REF), "UpdatedService", f"Updated the service {PLACE}",
        "FailedToUpdateService", f"Failed to update the service {PLACE}, why",
    ),
    (
        reports.report_submitter_create(REF), "CreatedRayJobSubmitter", f"Created Kubernetes Job {PLACE}",
        "FailedToCreateRayJobSubmitter", f"Failed to create new Kubernetes Job {PLACE}: why",
    ),
    (
        reports.report_submitter_delete(REF), "DeletedRayJobSubmitter", f"Deleted submitter K8s Job {PLACE}",
        "FailedToDeleteRayJobSubmitter", f"Failed to delete submitter K8s Job {PLACE}: why",
    ),
    (
        reports.report_cluster_create(REF), "CreatedRayCluster", f"Created RayCluster {PLACE}",
        "FailedToCreateRayCluster", f"Failed to create RayCluster {PLACE}: why",
    ),
    (
        reports.report_cluster_delete(REF), "DeletedRayCluster", f"Deleted cluster {PLACE}",
        "FailedToDeleteRayCluster", f"Failed to delete cluster {PLACE}: why",
    ),
    (
        reports.report_workers_suspended(REF), "UpdatedRayCluster",
        f"Set the `suspend` field to true for all worker groups in cluster {PLACE}",
        "FailedToUpdateRayCluster", f"Failed to suspend worker groups in cluster {PLACE}: why",
    ),
    (
        reports.report_scheduler_cleanup(PLACE), "BatchSchedulerCleanedUp",
        f"Cleaned up batch scheduler resources for RayJob {PLACE}",
        "FailedToCleanupBatchScheduler", f"Failed to cleanup batch scheduler resources for RayJob {PLACE}: why",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("report", "done", "note", "failed", "trouble"), WORDS, ids=[row[1] for row in WORDS])
def test_what_is_told_of_a_write(report: Report, done: str, note: str, failed: str, trouble: str) -> None:
    assert report.success is not None
    assert report.failure is not None
    assert (report.success.type, report.success.reason, report.success.note) == ("Normal", done, note)
    assert (report.failure.type, report.failure.reason) == ("Warning", failed)
    assert report.failure.note + report.separator + "why" == trouble


def test_a_chosen_cluster_that_is_not_there() -> None:
    event = reports.cluster_not_found(PLACE)
    assert (event.type, event.reason, event.action) == ("Warning", "RayClusterNotFound", "Validate")
    assert event.note == f"RayCluster {PLACE} set in the clusterSelector is not found. It must be created manually"
