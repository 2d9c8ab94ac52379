"""RayServices as KubeRay left them: at every turn of a recorded life our operator takes over, and nothing rolls.

A recording tells each status that KubeRay wrote, so the RayService can be put back as it was after any of them, with
its clusters, their Pods and the ways of its requests. Serve runs what it had been given. From there on the operator may
do what KubeRay did in the rest of that step, and no more.
"""

from collections.abc import Iterator

from msgspec import Struct

from conformance.operator.flows import load_flow
from conformance.operator.foreign_kinds import GATEWAY, HTTP_ROUTE
from conformance.operator.left_objects import fill_status, fold_status, unmask, whole_object
from conformance.operator.playing import Tree
from conformance.operator.worlds import Operated, World
from conformance.operator.write_log import Write
from heliostat.desired import labels
from heliostat.desired.rayservice.serve_config import list_applications, read_serve_config
from heliostat.desired.slots import Impossible
from heliostat.kube.jsontree import copy_tree, merge_patch
from heliostat.kube.resource_types import ResourceTypes
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_SERVICE, TYPES
from heliostat.plan.rayservice.observed import observe_service
from heliostat.testing.scripted_ray.state import Deployed

_TYPES = ResourceTypes((*TYPES, GATEWAY, HTTP_ROUTE))
_NAME = "svc"
_SERVICE = "Service"
_ACTIVE, _PENDING = "activeServiceStatus", "pendingServiceStatus"


class Turn(Struct, frozen=True, kw_only=True):
    """What there was after one write of the RayService's status. Clusters go by their recorded names."""

    flow: str
    number: int
    service: Tree  # with its spec as it was then
    status: Tree
    end: tuple[str, str]  # the active and the pending cluster to which the step leads, in time
    objects: list[Tree]
    clusters: dict[str, Tree]  # those that are there, with their status
    to_make: frozenset[str]  # clusters that KubeRay made in the rest of the step, or may have
    to_delete: frozenset[str]  # clusters that it deleted in this step, or would have
    deployed: frozenset[str]  # clusters whose Serve had been given the configuration

    def __str__(self) -> str:
        shown = [name for slot in (_ACTIVE, _PENDING) if (name := cluster_in(self.status, slot))]
        return f"{self.flow.removeprefix('rayservice-')}-{self.number}-{'-'.join(shown) or 'none'}"

    @property
    def namespace(self) -> str:
        return f"t-{self.flow.removeprefix('rayservice-')}-{self.number}"


def cluster_in(status: Tree, slot: str) -> str:
    return str((status.get(slot) or {}).get("rayClusterName") or "")


def list_turns(names: list[str]) -> list[Turn]:
    return [turn for name in names for turn in _turns_of(name)]


def _turns_of(name: str) -> Iterator[Turn]:
    service: Tree = {}
    status: Tree = {}
    clusters: dict[str, Tree] = {}
    made: list[Tree] = []
    number = 0
    for step in load_flow(name)["steps"]:
        match step["do"]:
            case ["create", tree]:
                service = tree
            case ["patch", "rayservice", _, changes]:
                service = merge_patch(service, changes)
        for write in step["writes"]:
            made += [_numbered(whole_object(write, made), len(made))] if write["verb"] == "create" else []
        new, gone = (_clusters_of(step, verb) for verb in ("create", "delete"))
        end = status
        for change in step["status_changes"]:
            end = fold_status(end, change["changes"]) if change["resource"] == RAY_SERVICE.plural else end
        for change in step["status_changes"]:
            if change["resource"] == RAY_CLUSTER.plural:
                clusters[change["name"]] = fold_status(clusters.get(change["name"], {}), change["changes"])
            elif change["resource"] == RAY_SERVICE.plural:
                status, number = fold_status(status, change["changes"]), number + 1
                there = _present(status, clusters, gone)
                yield Turn(
                    flow=name, number=number, service=service, status=status, end=_rest(end),
                    objects=list(_objects_of(made, status, there)), clusters=there, to_make=new - there.keys(),
                    to_delete=gone | _left_behind(end), deployed=_deployed(status),
                )  # fmt: skip
        clusters = {each: shown for each, shown in clusters.items() if each not in gone}


def _rest(end: Tree) -> tuple[str, str]:
    """Some steps end in the middle of an upgrade, which goes on here."""
    active, pending = cluster_in(end, _ACTIVE), cluster_in(end, _PENDING)
    return (pending, "") if active and pending else (active, pending)


def _left_behind(end: Tree) -> frozenset[str]:
    return frozenset({cluster_in(end, _ACTIVE)} if cluster_in(end, _ACTIVE) and cluster_in(end, _PENDING) else ())


def _numbered(tree: Tree, number: int) -> Tree:
    """Of Pods of one group a recording tells one name. A head takes the place of the one before."""
    if tree["kind"] == POD.kind and tree["metadata"]["labels"][labels.NODE_TYPE] != "head":
        tree["metadata"]["name"] += str(number)
    return tree


def _clusters_of(step: Tree, verb: str) -> frozenset[str]:
    return frozenset(
        each["name"] for each in step["writes"] if (each["verb"], each["resource"]) == (verb, RAY_CLUSTER.plural)
    )


def _present(status: Tree, clusters: dict[str, Tree], gone: frozenset[str]) -> dict[str, Tree]:
    """Those that serve or will, and those that KubeRay has not deleted yet; none where it had begun to."""
    named = {cluster_in(status, _ACTIVE), cluster_in(status, _PENDING)}
    if not any(named):
        return {}
    return {name: shown for name, shown in clusters.items() if name in named or name in gone}


def _deployed(status: Tree) -> frozenset[str]:
    slots = [status.get(slot) or {} for slot in (_ACTIVE, _PENDING)]
    return frozenset(str(slot.get("rayClusterName", "")) for slot in slots if slot.get("applicationStatuses")) - {""}


def _objects_of(made: list[Tree], status: Tree, clusters: dict[str, Tree]) -> Iterator[Tree]:
    """What belongs to the clusters that are there, and, once requests come, the ways that they take."""
    newest = {(tree["kind"], tree["metadata"]["name"]): tree for tree in made}
    active = cluster_in(status, _ACTIVE)
    for (_kind, name), tree in newest.items():
        owners = {owner["name"] for owner in tree["metadata"].get("ownerReferences") or ()}
        if name in clusters or owners & clusters.keys():
            yield tree
        elif _NAME in owners and active in clusters and tree["kind"] != RAY_CLUSTER.kind:
            yield _leading(tree, status)


def _leading(tree: Tree, status: Tree) -> Tree:
    """To where requests went by then."""
    led: Tree = copy_tree(tree)
    if tree["kind"] == _SERVICE and labels.CLUSTER in tree["spec"].get("selector", {}):
        led["spec"]["selector"][labels.CLUSTER] = cluster_in(status, _ACTIVE)
    if tree["kind"] == HTTP_ROUTE.kind:
        (rule,) = led["spec"]["rules"]
        slots = [status.get(slot) or {} for slot in (_ACTIVE, _PENDING)]
        told = [
            (slot["rayClusterName"], slot["trafficRoutedPercent"]) for slot in slots if "trafficRoutedPercent" in slot
        ]
        known = rule["backendRefs"][0]
        rule["backendRefs"] = [known | {"name": f"{name}-serve-svc", "weight": weight} for name, weight in told] or [
            known
        ]
    return led


async def leave(world: World, turn: Turn, now: float) -> None:
    """As KubeRay left it; Pods run when their nodes have taken them."""
    namespace, admin = turn.namespace, world.admin
    await world.make_namespace(namespace)
    placed = {"namespace": namespace, "finalizers": ["ray.io/rayservice-finalizer"]}
    made = await admin.create(RAY_SERVICE, turn.service | {"metadata": turn.service["metadata"] | placed})
    uids = {(RAY_SERVICE.kind, _NAME): made["metadata"]["uid"]}
    order = {RAY_CLUSTER.kind: 0, POD.kind: 2}
    for tree in sorted(turn.objects, key=lambda tree: order.get(tree["kind"], 1)):
        left = await admin.create(_TYPES.of(tree["apiVersion"], tree["kind"]), unmask(tree, namespace, uids))
        name = left["metadata"]["name"]
        uids[tree["kind"], name] = left["metadata"]["uid"]
        if tree["kind"] == RAY_CLUSTER.kind:
            changes = {"status": fill_status(turn.clusters[tree["metadata"]["name"]], namespace, now)}
            await admin.merge(RAY_CLUSTER, namespace, name, changes, "status")
    await admin.merge(RAY_SERVICE, namespace, _NAME, {"status": fill_status(turn.status, namespace, now)}, "status")
    _remember(world, turn, made, now)


def _remember(world: World, turn: Turn, service: Tree, now: float) -> None:
    """What Serve runs, since a while."""
    config = read_serve_config(observe_service(service, ()).service)
    assert world.ray is not None
    assert not turn.deployed or not isinstance(config, Impossible)
    for name in turn.deployed:
        slot = turn.status[_ACTIVE if cluster_in(turn.status, _ACTIVE) == name else _PENDING]
        assert not isinstance(config, Impossible)
        cluster = world.ray.cluster(f"{turn.namespace}/{name.lower()}-head-svc")
        cluster.deploy(Deployed(list_applications(config), now - 60.0, slot.get("targetCapacity")))


async def judge_taken_over(operated: Operated, turn: Turn) -> list[str]:
    """No cluster too many, none too few, no Pod restarted, nothing sent twice, the right end."""
    service = await operated.admin.get(RAY_SERVICE, turn.namespace, _NAME)
    writes = [write for write in operated.log.in_namespace(turn.namespace) if write.is_done]
    return [*_judge_clusters(turn, writes), *_judge_pods(turn, writes), *_judge_end(turn, service["status"]),
            *_judge_configured(operated, turn)]  # fmt: skip


def _judge_clusters(turn: Turn, writes: list[Write]) -> Iterator[str]:
    made, deleted = (_names(writes, verb, RAY_CLUSTER.plural) for verb in ("create", "delete"))
    if len(made) > len(turn.to_make):
        yield f"made the clusters {made}, at most {len(turn.to_make)} were to be made"
    expected = {name.lower() for name in turn.to_delete if name in turn.clusters}
    if set(deleted) - set(made) != expected:
        yield f"deleted the clusters {deleted}, not {sorted(expected)}"


def _judge_pods(turn: Turn, writes: list[Write]) -> Iterator[str]:
    kept = {name.lower() for name in turn.clusters.keys() - turn.to_delete}
    deleted = [name for name in _names(writes, "delete", POD.plural) if any(name.startswith(each) for each in kept)]
    if deleted:
        yield f"deleted the Pods {deleted}"


def _names(writes: list[Write], verb: str, resource: str) -> list[str]:
    found = (write for write in writes if (write.use.verb, write.use.resource) == (verb, resource))
    return [write.name or write.tree["metadata"]["name"] for write in found]


def _judge_end(turn: Turn, status: Tree) -> Iterator[str]:
    for slot, wanted in zip((_ACTIVE, _PENDING), turn.end, strict=True):
        got = cluster_in(status, slot)
        is_right = got == wanted.lower() if wanted in {"", *turn.clusters} else bool(got)
        if not is_right:
            yield f"{slot}: came to {got or 'none'}, not to {wanted or 'none'}"


def _judge_configured(operated: Operated, turn: Turn) -> Iterator[str]:
    """Capacities change in an upgrade by steps; else nothing is sent to a Serve that has it."""
    assert operated.world.ray is not None
    for name in turn.deployed:
        asked = operated.world.ray.cluster(f"{turn.namespace}/{name.lower()}-head-svc").requests
        sent = [each for each in asked if each.startswith("PUT")]
        if sent and "incremental" not in turn.flow:
            yield f"sent its configuration to {name} again: {sent}"
