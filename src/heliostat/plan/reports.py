"""What people are told when an object is made: KubeRay's event reasons, actions and notes (constants.md §14), as data.

A note names its object as ``namespace/name``; the error text of a failure is appended by whoever carries the plan out.
"""

from msgspec.structs import replace

from heliostat.kube import lookups as kinds
from heliostat.kube.plan import Event, Ref, Report

NORMAL, WARNING = "Normal", "Warning"
COLON = ": "  # KubeRay's two side controllers put a colon before the error
POLICY_REPORTER = "networkpolicy-controller"  # its name in events

# kind -> (middle of the event reason, "Created ..." note, "Failed ..." note)
_CREATED: dict[str, tuple[str, str, str]] = {
    kinds.SERVICE_ACCOUNT: ("ServiceAccount", "Created service account", "Failed creating service account"),
    kinds.ROLE: ("Role", "Created role", "Failed creating role"),
    kinds.ROLE_BINDING: ("RoleBinding", "Created role binding", "Failed creating role binding"),
    kinds.INGRESS: ("Ingress", "Created ingress", "Failed creating ingress"),
    kinds.ROUTE: ("Route", "Created route", "Failed creating route"),
    kinds.SERVICE: ("Service", "Created service", "Failed creating service"),
    kinds.CLAIM: ("PVC", "Created GCS storage PVC", "Failed to create GCS storage PVC"),
    kinds.JOB: ("RedisCleanupJob", "Created Redis cleanup Job", "Failed to create Redis cleanup Job"),
    kinds.NETWORK_POLICY: ("NetworkPolicy", "Created NetworkPolicy", "Failed to create NetworkPolicy"),
}


def report_write(verb: str, reason: str, done: str, failed: str, separator: str = COLON) -> Report:
    """``verb`` is Create, Update or Delete; ``reason`` the object in the event's reason."""
    return Report(
        success=Event(NORMAL, f"{verb}d{reason}", verb, done),
        failure=Event(WARNING, f"FailedTo{verb}{reason}", verb, failed),
        separator=separator,
    )


def report_create(ref: Ref) -> Report:
    """Kinds that KubeRay makes without a word (Secrets, PodGroups) stay silent."""
    texts = _CREATED.get(kinds.kind_name(ref.api_version, ref.kind))
    if texts is None:
        return Report()
    middle, done, failed = texts
    report = Report(
        success=Event(NORMAL, f"Created{middle}", "Create", f"{done} {place_of_ref(ref)}"),
        failure=Event(WARNING, f"FailedToCreate{middle}", "Create", f"{failed} {place_of_ref(ref)}"),
    )
    return of_side_controller(report, POLICY_REPORTER) if middle == "NetworkPolicy" else report


def of_side_controller(report: Report, reporter: str) -> Report:
    return Report(
        success=report.success and replace(report.success, reporter=reporter),
        failure=report.failure and replace(report.failure, reporter=reporter),
        separator=COLON,
    )


def place_of_ref(ref: Ref) -> str:
    return f"{ref.namespace}/{ref.name}"
