"""What is read of RayServices in a simulated world: their status, their routes, and the versions of what they run.

A version of an application stands in its configuration (``app:v3``), one of a cluster in its image (``ray:3``).
"""

import re
from collections.abc import Iterator

from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.state import State
from simulation.rayclusters.manifests import NAMESPACE
from simulation.rayclusters.reading import controller_uid, is_live, is_ready, label, name_of, uid_of

ACTIVE, PENDING = "activeServiceStatus", "pendingServiceStatus"
DEFAULT_DELAY = 60
_VERSION = re.compile(r"app:v\d+")


def versions_in(text: str) -> str:
    """Of all applications that a configuration names; empty when it names none."""
    return ",".join(sorted(_VERSION.findall(text)))


def version_of(service: JsonObject) -> str:
    return versions_in(service["spec"]["serveConfigV2"])


def status_of(service: JsonObject) -> JsonObject:
    status: JsonObject = service.get("status") or {}
    return status


def named(service: JsonObject, slot: str) -> str:
    return str((status_of(service).get(slot) or {}).get("rayClusterName") or "")


def condition(service: JsonObject, type_: str) -> tuple[str, str]:
    """Its status and its reason."""
    found = [each for each in status_of(service).get("conditions") or () if each["type"] == type_]
    return (found[0]["status"], found[0]["reason"]) if found else ("", "")


def delay_of(service: JsonObject) -> int:
    return int(service["spec"].get("rayClusterDeletionDelaySeconds", DEFAULT_DELAY))


def find_service(state: State, uid: str) -> JsonObject | None:
    return next((tree for tree in state.all("rayservices") if uid_of(tree) == uid), None)


def is_serve_service(tree: JsonObject) -> bool:
    return name_of(tree).endswith("-serve-svc")


def route_in(serve_service: JsonObject | None) -> str:
    """The cluster that a serve Service selects."""
    spec = (serve_service or {}).get("spec") or {}
    return str((spec.get("selector") or {}).get("ray.io/cluster") or "")


def route_of(state: State, service: str) -> str:
    return route_in(state.get("services", NAMESPACE, f"{service}-serve-svc"))


def pods_in_cluster(state: State, cluster: str) -> Iterator[JsonObject]:
    return (pod for pod in state.all("pods") if label(pod, "cluster") == cluster)


def is_endpoint(pod: JsonObject) -> bool:
    """Requests would come here, if its cluster were selected."""
    return label(pod, "serve") == "true" and is_live(pod) and is_ready(pod)


def clusters_of(state: State, service: JsonObject) -> list[JsonObject]:
    return [tree for tree in state.all("rayclusters") if controller_uid(tree) == uid_of(service)]


def pace_of(service: JsonObject) -> JsonObject:
    """How an incremental upgrade goes; empty where upgrades go as a whole."""
    strategy = service["spec"].get("upgradeStrategy") or {}
    is_incremental = strategy.get("type") == "NewClusterWithIncrementalUpgrade"
    options: JsonObject = strategy.get("clusterUpgradeOptions") or {}
    return options if is_incremental else {}


def is_never_upgraded(spec: JsonObject) -> bool:
    return (spec.get("upgradeStrategy") or {}).get("type") == "None"


def image_of(spec: JsonObject) -> str:
    return str(spec["headGroupSpec"]["template"]["spec"]["containers"][0]["image"])
