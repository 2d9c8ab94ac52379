"""The kinds of the API group ``ray.io``: names, versions, what ``kubectl get`` prints, and the structs behind them.

One table, in the order in which the kinds build on each other. Every version of a kind is read with the v1 struct
(``RayKind.struct``); a version's own shape (``KindVersion.spec`` and ``.status``) decides what its schema accepts.
"""

from typing import TypeAlias

from msgspec import Struct

from heliostat.api import v1alpha1
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster, RayClusterSpec, RayClusterStatus
from heliostat.api.raycronjob import RayCronJob, RayCronJobSpec, RayCronJobStatus
from heliostat.api.rayjob import RayJob, RayJobSpec, RayJobStatus
from heliostat.api.rayservice import RayService, RayServiceSpec, RayServiceStatus

GROUP = "ray.io"
# As kube/lookups.py names kinds; validate does without that module, which takes a while to load.
RAY_CLUSTER_NAME = "RayCluster.ray.io"
RAY_JOB_NAME = "RayJob.ray.io"

RayObject: TypeAlias = RayCluster | RayJob | RayService | RayCronJob


class Column(Struct, frozen=True):
    """One column of ``kubectl get``; priority 1 shows only with ``-o wide``."""

    name: str
    type: str
    path: str
    priority: int = 0


class KindVersion(Struct, frozen=True, kw_only=True):
    name: str
    spec: type[Struct]
    status: type[Struct]
    columns: tuple[Column, ...] = ()
    deprecation: str = ""


class RayKind(Struct, frozen=True, kw_only=True):
    """``zero_fields``: required parts of the spec that some version lets a document leave out, and what that means."""

    kind: str
    struct: type[RayObject]
    versions: tuple[KindVersion, ...]
    zero_fields: JsonObject = {}

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def plural(self) -> str:
        return self.singular + "s"


def _deprecation(kind: str) -> str:
    return (
        f"ray.io/v1alpha1 {kind} is deprecated; use ray.io/v1 {kind}."
        " v1alpha1 receives no new fields and will be unavailable in KubeRay 1.9."
    )


_NO_CLUSTER: JsonObject = {"headGroupSpec": {"template": {}}}

_AGE = Column("age", "date", ".metadata.creationTimestamp")

_CLUSTER_COLUMNS = (
    Column("desired workers", "integer", ".status.desiredWorkerReplicas"),
    Column("available workers", "integer", ".status.availableWorkerReplicas"),
    Column("cpus", "string", ".status.desiredCPU"),
    Column("memory", "string", ".status.desiredMemory"),
    Column("gpus", "string", ".status.desiredGPU"),
    Column("tpus", "string", ".status.desiredTPU", priority=1),
    Column("status", "string", ".status.state"),
    _AGE,
    Column("head pod IP", "string", ".status.head.podIP", priority=1),
    Column("head service IP", "string", ".status.head.serviceIP", priority=1),
)
_JOB_COLUMNS = (
    Column("job status", "string", ".status.jobStatus"),
    Column("deployment status", "string", ".status.jobDeploymentStatus"),
    Column("ray cluster name", "string", ".status.rayClusterName"),
    Column("start time", "string", ".status.startTime"),
    Column("end time", "string", ".status.endTime"),
    _AGE,
)
_SERVICE_COLUMNS = (
    Column("service status", "string", ".status.serviceStatus"),
    Column("num serve endpoints", "string", ".status.numServeEndpoints"),
)
_CRONJOB_COLUMNS = (
    Column("schedule", "string", ".spec.schedule"),
    Column("timezone", "string", ".spec.timeZone"),
    Column("last schedule", "date", ".status.lastScheduleTime"),
    _AGE,
    Column("suspend", "boolean", ".spec.suspend"),
)

KINDS: dict[str, RayKind] = {
    kind.kind: kind
    for kind in (
        RayKind(
            kind="RayCluster",
            struct=RayCluster,
            zero_fields=_NO_CLUSTER,
            versions=(
                KindVersion(name="v1", spec=RayClusterSpec, status=RayClusterStatus, columns=_CLUSTER_COLUMNS),
                KindVersion(
                    name="v1alpha1",
                    spec=v1alpha1.RayClusterSpec,
                    status=v1alpha1.RayClusterStatus,
                    columns=_CLUSTER_COLUMNS,
                    deprecation=_deprecation("RayCluster"),
                ),
            ),
        ),
        RayKind(
            kind="RayJob",
            struct=RayJob,
            versions=(
                KindVersion(name="v1", spec=RayJobSpec, status=RayJobStatus, columns=_JOB_COLUMNS),
                KindVersion(
                    name="v1alpha1",
                    spec=v1alpha1.RayJobSpec,
                    status=v1alpha1.RayJobStatus,
                    deprecation=_deprecation("RayJob"),
                ),
            ),
        ),
        RayKind(
            kind="RayService",
            struct=RayService,
            zero_fields={"rayClusterConfig": _NO_CLUSTER},
            versions=(
                KindVersion(name="v1", spec=RayServiceSpec, status=RayServiceStatus, columns=_SERVICE_COLUMNS),
                KindVersion(
                    name="v1alpha1",
                    spec=v1alpha1.RayServiceSpec,
                    status=v1alpha1.RayServiceStatus,
                    deprecation=_deprecation("RayService"),
                ),
            ),
        ),
        RayKind(
            kind="RayCronJob",
            struct=RayCronJob,
            zero_fields={"jobTemplate": {}, "schedule": ""},
            versions=(KindVersion(name="v1", spec=RayCronJobSpec, status=RayCronJobStatus, columns=_CRONJOB_COLUMNS),),
        ),
    )
}
