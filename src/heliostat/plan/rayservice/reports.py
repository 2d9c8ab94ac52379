"""What people are told about each write of a RayService: KubeRay's events (rayservice.md §12), as data."""

from msgspec.structs import replace

from heliostat.kube.plan import Event, Ref, Report
from heliostat.plan.reports import COLON, NORMAL, WARNING, place_of_ref, report_write

APPLICATIONS_NOT_UPDATED = "FailedToUpdateServeApplications"


def report_cluster_create(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return report_write(
        "Create", "RayCluster", f"Created the RayCluster {place}", f"Failed to create the RayCluster {place}"
    )


def report_cluster_update(ref: Ref, role: str) -> Report:
    """``role`` is active or pending."""
    what = f"the {role} RayCluster {place_of_ref(ref)}"
    return report_write("Update", "RayCluster", f"Updated {what}", f"Failed to update {what}")


def report_cluster_delete(ref: Ref, during: str = "") -> Report:
    what = f"the RayCluster {place_of_ref(ref)}{during}"
    return report_write("Delete", "RayCluster", f"Deleted {what}", f"Failed to delete {what}")


def report_service_create(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return report_write("Create", "Service", f"Created the service {place}", f"Failed to create the service {place}")


def report_service_update(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return report_write("Update", "Service", f"Updated the service {place}", f"Failed to update the service {place}")


def report_service_delete(ref: Ref, during: str) -> Report:
    what = f"the Service {place_of_ref(ref)}{during}"
    return report_write("Delete", "Service", f"Deleted {what}", f"Failed to delete {what}")


def report_gateway(verb: str, ref: Ref) -> Report:
    return _report_routing(verb, "Gateway", place_of_ref(ref))


def class_not_found(place: str, why: str) -> Event:
    return Event(WARNING, "FailedToUpdateGateway", "Update", f"Failed to update the Gateway {place}: {why}")


def report_route(verb: str, ref: Ref) -> Report:
    return _report_routing(verb, "HTTPRoute", place_of_ref(ref))


def _report_routing(verb: str, what: str, place: str) -> Report:
    """``verb`` is Create, Update, or Delete during suspend."""
    if verb == "Create":
        of = f"{what} for RayService {place}"
        return report_write(verb, what, f"Created {of}", f"Failed to create {of}")
    of = f"the {what} {place}" + (" during suspend" if verb == "Delete" else "")
    return report_write(verb, what, f"{verb}d {of}", f"Failed to {verb.lower()} {of}")


def report_capacity(place: str) -> Report:
    """Differs from KubeRay: rayservice-capacity-told."""
    what = "target_capacity of serve applications to"
    return Report(
        success=_capacity_updated(place),
        failure=Event(
            WARNING, "FailedToUpdateTargetCapacity", "Update", f"Failed to update {what} the RayCluster {place}"
        ),
        separator=COLON,
    )


def _capacity_updated(place: str) -> Event:
    """KubeRay's words, the doubled one included."""
    note = f"Updated target_capacity of serve applications to to the RayCluster {place}"
    return Event(NORMAL, "UpdatedServeTargetCapacity", "Update", note)


ROLLBACK_IMPOSSIBLE = Event(
    WARNING, "RollbackImpossible", "Reconcile", "Active cluster not found, rollback cannot be initiated"
)


def report_head_label(place: str, value: str) -> Report:
    what = f'the serve label to "{value}" for the Head Pod {place}'
    return report_write("Update", "HeadPodServeLabel", f"Updated {what}", f"Failed to update {what}")


def report_applications(place: str, *, has_share: bool) -> Report:
    """``has_share``: they were sent with a capacity of their own, for which KubeRay takes a second call."""
    what = f"serve applications to the RayCluster {place}"
    report = report_write("Update", "ServeApplications", f"Updated {what}", f"Failed to update {what}")
    return replace(report, besides=(_capacity_updated(place),)) if has_share else report


def applications_impossible(place: str, why: str) -> Event:
    note = f"Failed to update serve applications to the RayCluster {place}: {why}"
    return Event(WARNING, APPLICATIONS_NOT_UPDATED, "Update", note)


def initializing_timeout(message: str) -> Event:
    return Event(WARNING, "RayServiceInitializingTimeout", "Reconcile", message)


def deadline_exceeded(cluster: str) -> Event:
    note = f"The upgrade to {cluster} took longer than heliostat.dev/upgrade-deadline allows, rolling back"
    return Event(WARNING, "UpgradeDeadlineExceeded", "Reconcile", note)
