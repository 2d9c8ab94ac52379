"""The Service at the head of whichever cluster a RayJob has by now, and where Ray is reached (rayjob.md §9, §4).

Another attempt has another cluster: then the selector follows, and the address stays.
"""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.names import check_label, service_fqdn
from heliostat.desired.raycluster.services import build_head_service_spec
from heliostat.desired.rayjob.names import job_head_service_name, owner_reference


def build_job_head_service(job: RayJob, cluster_spec: RayClusterSpec, cluster: str, settings: Settings) -> JsonObject:
    metadata: JsonObject = {
        "name": job_head_service_name(job.metadata.name),
        "namespace": job.metadata.namespace,
        "labels": {
            labels.ORIGIN_NAME: job.metadata.name,
            labels.ORIGIN_KIND: "RayJob",
            labels.NODE_TYPE: labels.HEAD,
            labels.IDENTIFIER: check_label(f"{job.metadata.name}-{labels.HEAD}"),
        },
        "ownerReferences": [owner_reference(job)],
    }
    # KubeRay: rayjob.md §9, of a Service of the user's the annotations are kept, and headServiceAnnotations are not.
    users = (cluster_spec.head_group_spec.head_service or {}).get("metadata") or {}
    if users.get("annotations"):
        metadata["annotations"] = dict(users["annotations"])
    selector = labels.head_service_labels(cluster, None)  # KubeRay: labels of the head's template are not followed
    spec = build_head_service_spec(cluster_spec, settings) | {"selector": selector}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def find_dashboard_url(service: JsonObject, settings: Settings) -> str | None:
    """Host and port of Ray's dashboard behind the head Service of a cluster, without a scheme; None without a port."""
    metadata = service["metadata"]
    for port in (service.get("spec") or {}).get("ports") or []:
        if port.get("name") == "dashboard":
            host = service_fqdn(metadata["name"], metadata["namespace"], settings.cluster_domain)
            return f"{host}:{port['port']}"
    return None
