"""The Service at the head of whichever cluster a RayJob has by now, and where Ray is reached (rayjob.md §9, §4)."""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired.child_cluster import build_head_service_of
from heliostat.desired.names import service_fqdn
from heliostat.desired.rayjob.names import job_head_service_name


def build_job_head_service(job: RayJob, cluster_spec: RayClusterSpec, cluster: str, settings: Settings) -> JsonObject:
    return build_head_service_of(job, job_head_service_name(job.metadata.name), cluster, cluster_spec, settings)


def find_dashboard_url(service: JsonObject, settings: Settings) -> str | None:
    """Host and port of Ray's dashboard behind the head Service of a cluster, without a scheme; None without a port."""
    metadata = service["metadata"]
    for port in (service.get("spec") or {}).get("ports") or []:
        if port.get("name") == "dashboard":
            host = service_fqdn(metadata["name"], metadata["namespace"], settings.cluster_domain)
            return f"{host}:{port['port']}"
    return None
