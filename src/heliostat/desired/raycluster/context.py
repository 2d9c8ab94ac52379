"""What every builder of one RayCluster needs, worked out once."""

from msgspec import Struct

from heliostat.api import cluster_features as features
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster, RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.desired.names import head_service_name, service_fqdn
from heliostat.desired.owners import owner_reference

DEFAULT_GCS_PORT = "6379"


class BuildContext(Struct, frozen=True, kw_only=True):
    cluster: RayCluster
    settings: Settings
    annotations: dict[str, str]
    labels: dict[str, str]
    creator: str  # RayCluster, RayJob or RayService
    head_service: str
    fqdn: str
    gcs_port: str

    @property
    def name(self) -> str:
        return self.cluster.metadata.name

    @property
    def namespace(self) -> str:
        return self.cluster.metadata.namespace

    @property
    def spec(self) -> RayClusterSpec:
        return self.cluster.spec

    @property
    def is_autoscaling(self) -> bool:
        return features.is_autoscaling(self.spec)

    @property
    def is_tls(self) -> bool:
        return features.is_tls_enabled(self.spec, self.settings)

    @property
    def has_collector(self) -> bool:
        options = self.spec.history_server_options
        return self.settings.gate("RayClusterHistoryServer") and bool(options and options.collector_options)


def build_context(cluster: RayCluster, settings: Settings) -> BuildContext:
    head = cluster.spec.head_group_spec
    service = head_service_name(cluster.metadata.name, head)
    return BuildContext(
        cluster=cluster,
        settings=settings,
        annotations=cluster.metadata.annotations or {},
        labels=cluster.metadata.labels or {},
        creator=features.creator_kind(cluster),
        head_service=service,
        fqdn=service_fqdn(service, cluster.metadata.namespace, settings.cluster_domain),
        gcs_port=(head.ray_start_params or {}).get("port", DEFAULT_GCS_PORT),
    )


def build_owned(context: BuildContext, api_version: str, kind: str, name: str, labels: dict[str, str]) -> JsonObject:
    """The shell of an object that the RayCluster controls."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": context.namespace,
            "labels": labels,
            "ownerReferences": [owner_reference(context.cluster)],
        },
    }
