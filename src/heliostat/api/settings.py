"""What the operator was told: flags, feature gates, environment switches and its configuration file, as one value.

Pure: reading the process's arguments and environment is ``heliostat.operator.flags``' work. Every builder, rule and
decision takes this value, so two of them can never disagree about a switch.
"""

from msgspec import Struct, field

from heliostat.api.markers import JsonObject

GATES: dict[str, tuple[bool, str]] = {  # name -> (default, stage)
    "RayClusterStatusConditions": (True, "Beta"),
    "RayJobDeletionPolicy": (True, "Beta"),
    "RayMultiHostIndexing": (True, "Beta"),
    "RayServiceIncrementalUpgrade": (True, "Beta"),
    "RayCronJob": (False, "Alpha"),
    "SidecarSubmitterRestart": (False, "Alpha"),
    "RayClusterNetworkPolicy": (False, "Alpha"),
    "GCSFaultToleranceEmbeddedStorage": (False, "Alpha"),
    "RayClusterMTLS": (False, "Alpha"),
    "RayClusterHistoryServer": (False, "Alpha"),
    "KubernetesWAS": (False, "Alpha"),
}

BATCH_SCHEDULERS = ("volcano", "yunikorn", "scheduler-plugins", "kai-scheduler")


def default_gates() -> dict[str, bool]:
    return {name: default for name, (default, _stage) in GATES.items()}


class Settings(Struct, frozen=True, kw_only=True):
    """Defaults are KubeRay's."""

    operator_version: str = "heliostat-v0.1.0"
    gates: dict[str, bool] = field(default_factory=default_gates)
    batch_scheduler: str = ""

    cluster_domain: str = "cluster.local"
    requeue_seconds: int = 300
    inject_init_container: bool = True
    inject_probes: bool = True
    ready_probe_seconds: int = 0  # delay and period of readiness probes that are injected; 0: KubeRay's
    random_pod_delete: bool = False
    redis_cleanup: bool = True
    head_cluster_ip_service: bool = False
    login_shell: bool = False
    deterministic_head_name: bool = False
    openshift_route: bool = False  # OpenShift was detected and USE_INGRESS_ON_OPENSHIFT is not set
    cert_manager: bool = True  # cert-manager.io/v1 was served when the operator started
    zero_downtime: bool = True
    delete_rayjob_after_finish: bool = False
    rayjob_transition_grace_seconds: int = 300
    rayjob_status_check_timeout_seconds: int = 300
    rayjob_pre_running_seconds: int = 0  # of RayJobs that set none themselves; 0: they may wait for ever

    head_sidecar_containers: tuple[JsonObject, ...] = ()
    worker_sidecar_containers: tuple[JsonObject, ...] = ()
    default_container_envs: tuple[JsonObject, ...] = ()
    default_pod_annotations: dict[str, str] = field(default_factory=dict)
    default_pod_labels: dict[str, str] = field(default_factory=dict)

    def gate(self, name: str) -> bool:
        return self.gates[name]
