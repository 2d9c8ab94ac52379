"""A world of one RayService for planner tests: plans are made from it and carried out on it, in memory.

``serve`` is the other side: what each cluster was asked to run and what it reports. ``settle`` does what other
controllers would: clusters get their Pods, Services their endpoints. Nothing here decides anything.
"""

from typing import Any

from msgspec import Struct, structs

from heliostat.api.documents import Accepted, accept
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.rayservice.serve_config import list_applications
from heliostat.kube.facts import Fact, Unknown
from heliostat.kube.jsontree import merge_patch
from heliostat.kube.persisted import find_premature_use
from heliostat.kube.plan import Effect, Plan, Ref
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.imagined import ImaginedWorld
from heliostat.plan.kind import Surroundings
from heliostat.plan.rayservice.answers import ApplicationInfo, DeploymentInfo, ServeInfo
from heliostat.plan.rayservice.kind import RAY_SERVICE
from heliostat.plan.rayservice.observed import ObservedService, Remembered, Sent, observe_service
from heliostat.plan.rayservice.serving import CONFIGURE
from plan.worlds import NAMESPACE, NOW, UID, Tree, group, plan_by_row, pod_template

NAME = "svc"
SERVICE = Ref("ray.io/v1", "RayService", NAMESPACE, NAME)
CONFIG = "applications: [{name: app, import_path: 'm:a', route_prefix: /}]"
SPLIT: dict[str, Any] = {"stepSizePercent": 25, "intervalSeconds": 4, "maxSurgePercent": 50, "gatewayClassName": "any"}
OTHER_CONFIG = "applications: [{name: app, import_path: 'm:b', route_prefix: /}]"


def service_tree(*, metadata: Tree | None = None, status: Tree | None = None, **spec: Any) -> Tree:
    """A sound RayService as an API server would hold it."""
    placed = {
        "name": NAME,
        "namespace": NAMESPACE,
        "uid": UID,
        "generation": 1,
        "resourceVersion": "100",
        "creationTimestamp": format_timestamp(NOW),
        **(metadata or {}),
    }
    config = {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {}, "template": pod_template("ray-head")},
        "workerGroupSpecs": [group()],
    }
    sound = {"serveConfigV2": CONFIG, "rayClusterConfig": config, **spec}
    answer = accept({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": placed, "spec": sound})
    assert isinstance(answer, Accepted), answer
    return answer.tree | ({"status": status} if status is not None else {})


class ServiceWorld(Struct, frozen=True):
    world: ImaginedWorld
    serve: dict[str, ServeInfo] = {}
    is_silent: bool = False
    silent_clusters: frozenset[str] = frozenset()
    are_proxies_healthy: bool = True
    has_gateways: bool = True  # somebody serves them
    unread: frozenset[str] = frozenset()  # kinds that nobody shows
    settings: Settings = Settings()
    remembered: Remembered = Remembered()
    configured: tuple[str, ...] = ()  # the clusters that were asked to run something, in order
    told: tuple[str, ...] = ()  # reasons of events
    waits: tuple[str, ...] = ()  # of the last plan

    @property
    def service(self) -> Tree | None:
        return self.world.find(SERVICE)

    @property
    def status(self) -> Tree:
        return (self.service or {}).get("status") or {}

    @property
    def active(self) -> str:
        return str(self.status.get("activeServiceStatus", {}).get("rayClusterName", ""))

    @property
    def pending(self) -> str:
        return str(self.status.get("pendingServiceStatus", {}).get("rayClusterName", ""))

    @property
    def routed(self) -> str:
        found = self.world.find(Ref("v1", "Service", NAMESPACE, f"{NAME}-serve-svc"))
        return str(found["spec"]["selector"][labels.CLUSTER]) if found is not None else ""

    @property
    def weights(self) -> dict[str, int]:
        """What the route gives to each cluster, in percent."""
        return {each["name"].removesuffix("-serve-svc"): each["weight"] for each in self._back_ends()}

    @property
    def route_ports(self) -> dict[str, int]:
        return {each["name"].removesuffix("-serve-svc"): each["port"] for each in self._back_ends()}

    def _back_ends(self) -> list[Tree]:
        found = self.world.find(Ref("gateway.networking.k8s.io/v1", "HTTPRoute", NAMESPACE, f"{NAME}-httproute"))
        return list(found["spec"]["rules"][0]["backendRefs"]) if found is not None else []

    @property
    def shares(self) -> tuple[int | None, ...]:
        """As the references write it: capacity and traffic of the pending, then of the active cluster."""
        slots = [self.status.get(f"{slot}ServiceStatus", {}) for slot in ("pending", "active")]
        return tuple(slot.get(key) for slot in slots for key in ("targetCapacity", "trafficRoutedPercent"))

    def condition(self, type_: str) -> tuple[str, str]:
        found = [each for each in self.status.get("conditions", ()) if each["type"] == type_]
        return (found[0]["status"], found[0]["reason"]) if found else ("", "")

    def of_kind(self, kind: str) -> list[Tree]:
        return [tree for tree in self.world.trees() if tree["kind"] == kind]

    def names(self, kind: str) -> set[str]:
        return {tree["metadata"]["name"] for tree in self.of_kind(kind)}

    def after(self, seconds: float) -> "ServiceWorld":
        return self.with_world(structs.replace(self.world, now=self.world.now + seconds))

    def with_world(self, world: ImaginedWorld) -> "ServiceWorld":
        return structs.replace(self, world=world)

    def edit(self, **spec: Any) -> "ServiceWorld":
        """What a user does: another spec is another generation."""
        assert self.service is not None
        metadata = self.service["metadata"]
        version = self.world.version + 1
        bumped = {"generation": metadata["generation"] + 1, "resourceVersion": str(version)}
        tree = self.service | {"metadata": metadata | bumped, "spec": merge_patch(self.service["spec"], spec)}
        return self.with_world(structs.replace(self.world.hold(tree), version=version))

    def change(self, kind: str, name: str, patch: Tree) -> "ServiceWorld":
        (tree,) = [each for each in self.of_kind(kind) if each["metadata"]["name"] == name]
        return self.with_world(self.world.hold(merge_patch(tree, patch)))

    def without(self, kind: str, name: str) -> "ServiceWorld":
        kept = {
            key: tree
            for key, tree in self.world.objects.items()
            if (tree["kind"], tree["metadata"]["name"]) != (kind, name)
        }
        return self.with_world(structs.replace(self.world, objects=kept))

    def observe(self) -> ObservedService:
        assert self.service is not None
        serve: dict[str, Any] = {
            name: Unknown("no answer")
            if self.is_silent or name in self.silent_clusters
            else Fact(self.serve.get(name, ServeInfo()))
            for name in self.names("RayCluster")
        }
        proxies: dict[str, Any] = {
            pod["metadata"]["uid"]: Fact(self.are_proxies_healthy) for pod in self.of_kind("Pod")
        }
        observed = observe_service(self.service, self.world.trees(), serve, proxies, self.settings)
        hidden = Surroundings(unread=dict.fromkeys(self.unread, "not served")).hide_from(observed.objects)
        return structs.replace(observed, objects=hidden)

    def plan(self) -> Plan:
        observed = self.observe()
        now = self.world.now
        plan = plan_by_row(RAY_SERVICE, observed, observed.service, self.remembered, self.settings, now)
        assert find_premature_use(plan) is None
        return plan

    def restart(self) -> "ServiceWorld":
        return structs.replace(self, remembered=Remembered())


def begin(**spec: Any) -> ServiceWorld:
    return ServiceWorld(ImaginedWorld(now=NOW, age=0.0).hold(service_tree(**spec)))


def begin_incremental(surge: int = 50, step: int = 25, interval: int = 4, **spec: Any) -> ServiceWorld:
    options = {**SPLIT, "maxSurgePercent": surge, "stepSizePercent": step, "intervalSeconds": interval}
    strategy = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": options}
    config = {
        "rayVersion": "2.52.0",
        "enableInTreeAutoscaling": True,
        "headGroupSpec": {"rayStartParams": {}, "template": pod_template("ray-head")},
        "workerGroupSpecs": [group()],
    }
    return begin(upgradeStrategy=strategy, rayClusterConfig=config, **spec)


def act(world: ServiceWorld) -> ServiceWorld:
    """One pass."""
    if world.service is None:
        return world
    plan = world.plan()
    told = [each.reason for each in plan.events]
    after = world.with_world(world.world.carry_out(plan))
    for action in plan.actions():
        report = getattr(action, "report", None)
        if report is not None and report.success is not None:
            told += [report.success.reason, *(each.reason for each in report.besides)]
        if isinstance(action, Effect) and action.kind == CONFIGURE:
            after = _configure(after, action)
    waits = tuple(str(wait.reason) for wait in plan.waits)
    return structs.replace(after, told=(*world.told, *told), waits=waits)


def _configure(world: ServiceWorld, effect: Effect) -> ServiceWorld:
    cluster, config = effect.payload["cluster"], effect.payload["config"]
    running = {
        name: ApplicationInfo("DEPLOYING", deployments={"D": DeploymentInfo("UPDATING")}, config=each)
        for name, each in list_applications(config).items()
    }
    sent = Sent(effect.idempotency_key, world.world.now, effect.payload["deployedBefore"])
    return structs.replace(
        world,
        serve={**world.serve, cluster: ServeInfo(running, world.world.now, config.get("target_capacity"))},
        remembered=Remembered({**world.remembered.sent, cluster: sent}),
        configured=(*world.configured, cluster),
    )


def deploy(world: ServiceWorld, status: str = "RUNNING") -> ServiceWorld:
    """All applications have come to this."""
    told = {
        cluster: structs.replace(
            info, applications={name: structs.replace(each, status=status) for name, each in info.applications.items()}
        )
        for cluster, info in world.serve.items()
    }
    return structs.replace(world, serve=told)


def settle(world: ServiceWorld) -> ServiceWorld:
    """What other controllers do: heads and workers run, head Services are there, endpoints follow the serve Service."""
    imagined = world.world
    for cluster in world.of_kind("RayCluster"):
        name = cluster["metadata"]["name"]
        ready = {"conditions": [_HEAD_READY], "state": "ready"}
        imagined = imagined.hold({**cluster, "status": ready})
        imagined = imagined.create(
            _pod(name, labels.HEAD, "false"), _pod(name, labels.WORKER, "true"), _head_service(name)
        )
    gone = {f"{name}-{role}" for name in _all_names(world) - world.names("RayCluster") for role in ("head", "worker")}
    gone |= {f"{name}-serve-svc" for name in _all_names(world) - world.names("RayCluster")}
    kept = {key: tree for key, tree in imagined.objects.items() if tree["metadata"]["name"] not in gone}
    settled = structs.replace(imagined, objects=kept).settle()
    if world.has_gateways:
        return _move_endpoints(accept_routing(world.with_world(settled)))
    return _move_endpoints(world.with_world(settled.hold(*world.of_kind("Gateway"))))


def accept_routing(world: ServiceWorld) -> ServiceWorld:
    """Somebody serves the Gateways, and has seen the routes as they are."""
    imagined = world.world
    for tree in (*world.of_kind("Gateway"), *world.of_kind("HTTPRoute")):
        imagined = imagined.hold({**tree, "status": _accepted(tree)})
    return world.with_world(imagined)


def _accepted(tree: Tree) -> Tree:
    is_gateway = tree["kind"] == "Gateway"
    conditions = [
        {"type": type_, "status": "True", "observedGeneration": tree["metadata"]["generation"]}
        for type_ in ("Accepted", "Programmed" if is_gateway else "ResolvedRefs")
    ]
    if is_gateway:
        return {"conditions": conditions}
    return {"parents": [{"parentRef": parent, "conditions": conditions} for parent in tree["spec"]["parentRefs"]]}


def _all_names(world: ServiceWorld) -> set[str]:
    return {pod["metadata"]["labels"][labels.CLUSTER] for pod in world.of_kind("Pod")}


def _pod(cluster: str, role: str, serve: str) -> Tree:
    named = {labels.CLUSTER: cluster, labels.NODE_TYPE: role, labels.SERVE: serve}
    metadata = {"name": f"{cluster}-{role}", "namespace": NAMESPACE, "labels": named}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "ray"}]}}


def _head_service(cluster: str) -> Tree:
    metadata = {"name": f"{cluster}-head-svc", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [_DASHBOARD]}}


_HEAD_READY = {
    "type": "HeadPodReady",
    "status": "True",
    "reason": "HeadPodRunningAndReady",
    "message": "",
    "lastTransitionTime": format_timestamp(NOW),
}
_DASHBOARD = {"name": "dashboard", "port": 8265}


def _move_endpoints(world: ServiceWorld) -> ServiceWorld:
    """Of every Service that selects for Serve."""
    for service in world.of_kind("Service"):
        selector = service["spec"].get("selector") or {}
        if labels.SERVE in selector:
            pods = [pod for pod in world.of_kind("Pod") if _is_endpoint(pod, selector[labels.CLUSTER])]
            world = world.with_world(world.world.hold(_slice(service["metadata"]["name"], pods)))
    return world


def _slice(name: str, pods: list[Tree]) -> Tree:
    endpoints = [{"conditions": {"ready": True}, "targetRef": {"uid": pod["metadata"]["uid"]}} for pod in pods]
    metadata = {"name": f"{name}-x", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": name}}
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, "endpoints": endpoints}


def _is_endpoint(pod: Tree, cluster: str) -> bool:
    own = pod["metadata"]["labels"]
    is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"]["conditions"])
    return bool(own[labels.CLUSTER] == cluster and own[labels.SERVE] == "true" and is_ready)


def run(world: ServiceWorld, passes: int = 12) -> ServiceWorld:
    """Until it rests: other controllers and Serve do their work after each pass."""
    for _ in range(passes):
        world = deploy(settle(act(world)))
    return world


def spec_of(world: ServiceWorld) -> RayService:
    return world.observe().service
