"""Discovery: whether this Kubernetes serves our own kinds, and which of the API groups that we can use.

Rules: what is served is asked once, at the start, as KubeRay does; it turns settings on and off (Routes of OpenShift,
certificates) and tells what is missing for what was asked: our own CustomResourceDefinitions, the PodGroups of a
scheduler. What is missing is said with what to do about it; whoever asks waits.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.settings import Settings
from heliostat.kube import lookups
from heliostat.kube.counts import read_count
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import RAY_CLUSTER, RAY_CRON_JOB, RESOURCES
from heliostat.runtime.client import Client
from heliostat.runtime.errors import NotFoundError, RefusedError
from heliostat.runtime.transport import Call

OPENSHIFT_GROUPS = frozenset({"route.openshift.io", "security.openshift.io", "config.openshift.io"})
CERT_MANAGER = "cert-manager.io/v1"
SIDECAR_RESTART_VERSION = (1, 35)
_INSTALL = "install it with: heliostat crds | kubectl apply --server-side -f -"


class Platform(Struct, frozen=True):
    groups: frozenset[str]
    group_versions: frozenset[str]
    has_ray_clusters: bool
    version: tuple[int, int]  # of Kubernetes; (0, 0) when it is not told
    has_ray_cron_jobs: bool = True

    @property
    def is_openshift(self) -> bool:
        return not OPENSHIFT_GROUPS.isdisjoint(self.groups)


async def observe_platform(client: Client) -> Platform:
    """Raises ApiError."""
    listed = msgspec.json.decode(await client.request(Call(method="GET", path="/apis")), type=_GroupList)
    versions = frozenset(each.group_version for group in listed.groups for each in group.versions)
    return Platform(
        groups=frozenset(group.name for group in listed.groups),
        group_versions=versions,
        has_ray_clusters=RAY_CLUSTER.api_version in versions and await _serves(client, RAY_CLUSTER),
        has_ray_cron_jobs=RAY_CRON_JOB.api_version in versions and await _serves(client, RAY_CRON_JOB),
        version=await _fetch_version(client),
    )


def apply_platform(settings: Settings, platform: Platform, *, use_ingress_on_openshift: bool) -> Settings:
    return replace(
        settings,
        openshift_route=platform.is_openshift and not use_ingress_on_openshift,
        cert_manager=CERT_MANAGER in platform.group_versions,
    )


def list_missing(settings: Settings, platform: Platform) -> list[str]:
    """What has to be there before anything can be done, each with how to get it."""
    missing = (
        [] if platform.has_ray_clusters else [f"RayCluster of {RAY_CLUSTER.api_version} is not served; {_INSTALL}"]
    )
    missing += [_describe(resource, why) for resource, why in _needed(settings) if not _is_served(resource, platform)]
    if settings.gate("RayCronJob") and not platform.has_ray_cron_jobs:
        missing.append(f"RayCronJob of {RAY_CRON_JOB.api_version} is not served; {_INSTALL}, or turn the gate off")
    if settings.gate("SidecarSubmitterRestart") and (0, 0) < platform.version < SIDECAR_RESTART_VERSION:
        found = ".".join(map(str, platform.version))
        missing.append(f"the gate SidecarSubmitterRestart needs Kubernetes 1.35, this is {found}; turn the gate off")
    return missing


def _needed(settings: Settings) -> list[tuple[ResourceType, str]]:
    if settings.gate("KubernetesWAS"):
        return [(RESOURCES[lookups.WORKLOAD], "the gate KubernetesWAS")]
    if settings.batch_scheduler == "volcano":
        return [(RESOURCES[lookups.VOLCANO_GROUP], "the batch scheduler volcano")]
    if settings.batch_scheduler == "scheduler-plugins":
        return [(RESOURCES[lookups.PLUGIN_GROUP], "the batch scheduler scheduler-plugins")]
    return []


def _is_served(resource: ResourceType, platform: Platform) -> bool:
    return resource.api_version in platform.group_versions


def _describe(resource: ResourceType, why: str) -> str:
    return f"{resource.kind} of {resource.api_version} is not served, and {why} needs it; install it, or leave that out"


async def _serves(client: Client, resource: ResourceType) -> bool:
    try:
        answer = await client.request(Call(method="GET", path=f"/apis/{resource.api_version}"))
    except NotFoundError:
        return False
    return any(one.name == resource.plural for one in msgspec.json.decode(answer, type=_ResourceList).resources)


class _Version(Struct, rename="camel"):
    group_version: str


class _Group(Struct):
    name: str
    versions: list[_Version] = []


class _GroupList(Struct):
    groups: list[_Group] = []


class _Resource(Struct):
    name: str


class _ResourceList(Struct):
    resources: list[_Resource] = []


class _VersionInfo(Struct):
    major: str = ""
    minor: str = ""


async def _fetch_version(client: Client) -> tuple[int, int]:
    try:
        answer = await client.request(Call(method="GET", path="/version"))
    except RefusedError:
        return (0, 0)  # some hide it; that is no reason to wait
    told = msgspec.json.decode(answer, type=_VersionInfo)
    minor = told.minor.rstrip("+")  # some providers add a plus sign
    found = (read_count(told.major), read_count(minor))
    return (0, 0) if found[0] is None or found[1] is None else (found[0], found[1])
