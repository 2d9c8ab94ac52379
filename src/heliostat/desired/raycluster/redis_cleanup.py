"""The Job that deletes what a deleted cluster has stored in Redis (raycluster.md §3.1)."""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.containers import append_env, env, fixed_resources, has_env
from heliostat.desired.names import head_pod_prefix, redis_cleanup_job_name
from heliostat.desired.owners import owner_reference
from heliostat.desired.raycluster.context import build_context
from heliostat.desired.raycluster.pods import build_head_template
from heliostat.desired.raycluster.start_command import bash_command
from heliostat.desired.raycluster.tls_pods import WAIT_FOR_ADDRESS

_MANUAL = "https://docs.ray.io/en/master/cluster/kubernetes/user-guides/kuberay-gcs-ft.html"
_HELP = (
    "To get more information about manually deleting the storage namespace in Redis and removing the RayCluster's"
    f" finalizer, please check {_MANUAL} for more details."
)
_USERNAME = "username=os.getenv('REDIS_USERNAME', parsed.username), "
_PREPARATION = (
    "from ray._private.gcs_utils import cleanup_redis_storage",
    "from urllib.parse import urlparse",
    "import os",
    "import sys",
    "redis_address = os.getenv('RAY_REDIS_ADDRESS', '').split(',')[0]",
    "redis_address = redis_address if '://' in redis_address else 'redis://' + redis_address",
    "parsed = urlparse(redis_address)",
)


def _command(*, with_username: bool) -> str:
    clean = (
        "sys.exit(1) if not cleanup_redis_storage(host=parsed.hostname, port=parsed.port, "
        f"{_USERNAME if with_username else ''}"
        "password=os.getenv('REDIS_PASSWORD', parsed.password or ''), use_ssl=parsed.scheme=='rediss', "
        "storage_namespace=os.getenv('RAY_external_storage_namespace')) else None"
    )
    return f'echo "{_HELP}" && python -c "{"; ".join((*_PREPARATION, clean))}"'


def build_redis_cleanup_job(cluster: RayCluster, settings: Settings) -> JsonObject:
    """Made of the head Pod, so that it has the image, the environment and the credentials that reach Redis."""
    context = build_context(cluster, settings)
    pod = build_head_template(context)
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["labels"][labels.NODE_TYPE] = labels.REDIS_CLEANUP
    if "name" not in metadata:
        metadata["generateName"] = head_pod_prefix(context.name)
    container = spec["containers"][0]
    container["command"] = bash_command(context)
    container["args"] = [_command(with_username=has_env(container, "REDIS_USERNAME"))]
    container["resources"] = fixed_resources("200m", "256Mi")
    container.pop("livenessProbe", None)
    container.pop("readinessProbe", None)
    append_env(
        container, env("RAY_redis_db_connect_retries", "120"), env("RAY_redis_db_connect_wait_milliseconds", "500")
    )
    spec["containers"] = [container]
    if spec.get("initContainers"):
        spec["initContainers"] = [init for init in spec["initContainers"] if init.get("name") != WAIT_FOR_ADDRESS]
    spec["restartPolicy"] = "Never"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": redis_cleanup_job_name(context.name),
            "namespace": context.namespace,
            # Differs from KubeRay: R3-11, a template may override the label that Jobs are watched by.
            "labels": {**metadata["labels"], labels.CREATED_BY: labels.OPERATOR},
            "annotations": dict(metadata["annotations"]),
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": 300,
            "template": {"metadata": metadata, "spec": spec},
        },
    }
