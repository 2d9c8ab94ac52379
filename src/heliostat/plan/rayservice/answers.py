"""What Serve and its proxies say, as a planner takes it: facts, or unknown."""

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.kube.facts import FactKey

RUNNING = "RUNNING"
APPLICATIONS, PROXY = "serve-applications", "serve-proxy"  # kinds of facts


class DeploymentInfo(Struct, frozen=True):
    status: str
    message: str = ""


class ApplicationInfo(Struct, frozen=True):
    """``config`` is what Serve says that it was asked for; None when it does not say."""

    status: str
    message: str = ""
    deployments: dict[str, DeploymentInfo] = {}
    config: JsonObject | None = None


class ServeInfo(Struct, frozen=True):
    """The applications of one cluster, by name; ``deployed`` is when Serve last took a configuration, by its clock.

    ``capacity`` is Serve's ``target_capacity`` in percent; None: it was never told one, and has all.
    """

    applications: dict[str, ApplicationInfo] = {}
    deployed: float = 0.0
    capacity: float | None = None


class AskServe(Struct, frozen=True):
    """Which applications a cluster runs; ``secret`` holds the token of its dashboard, if any."""

    cluster: str
    address: str
    secret: str = ""


class AskProxy(Struct, frozen=True):
    """Whether the Serve proxy of a head Pod takes requests."""

    pod: str
    uid: str
    ip: str
    port: int


def applications_key(uid: str, cluster: str) -> FactKey:
    """Of a RayService's UID and a cluster's name: one fact for as long as both are there."""
    return FactKey(APPLICATIONS, f"{uid}/{cluster}")


def proxy_key(uid: str, pod_uid: str) -> FactKey:
    return FactKey(PROXY, f"{uid}/{pod_uid}")
