"""C3: each reason for a delete, and when it is true in the view that it was decided from. The table is the test's own.

Of the Pods that a smaller wish makes superfluous, none goes that works while one stays that does not.
"""

from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Delete, Plan
from heliostat.operator.kinds import RAY_CLUSTERS, RAY_PODS
from heliostat.operator.program import RayOperator
from heliostat.plan.because import Because
from heliostat.testing.simulation.state import State
from simulation.rayclusters.reading import (
    HEAD,
    SUSPENDING,
    asked_away,
    find_group,
    groups_of,
    has_condition,
    has_ended,
    hosts_of,
    is_autoscaling,
    is_live,
    is_ready,
    is_terminating,
    label,
    name_of,
    uid_of,
    wanted_workers,
    workers_in,
)


class View(Struct, frozen=True):
    """What the caches showed when a plan was made, as trees."""

    key: Key
    uid: str
    generation: int
    cluster: JsonObject
    pods: list[JsonObject]  # that the cluster controls
    images: dict[str, str]  # of all Pods, by UID: the operator keeps none, and they never change

    @property
    def spec(self) -> JsonObject:
        spec: JsonObject = self.cluster["spec"]
        return spec

    @property
    def groups(self) -> list[JsonObject]:
        return groups_of(self.spec)

    def mates(self, pod: JsonObject) -> list[JsonObject]:
        """The Pods of its multi-host replica, or it alone."""
        replica = label(pod, "worker-group-replica-name")
        found = [mate for mate in self.pods if replica and label(mate, "worker-group-replica-name") == replica]
        return found or [pod]


def view_of(operator: RayOperator, key: Key, state: State) -> View | None:
    item = operator.host.caches.of(RAY_CLUSTERS).get(key)
    if item is None:
        return None
    metadata = item.metadata
    pods = operator.host.caches.of(RAY_PODS).owned_by(metadata.uid)
    cluster = {
        "metadata": _tree(metadata),
        "spec": msgspec.json.decode(item.spec),
        "status": msgspec.json.decode(item.status),
    }
    images = {uid_of(pod): str(pod["spec"]["containers"][0]["image"]) for pod in state.ever("pods")}
    return View(key, metadata.uid, metadata.generation, cluster, [_tree(pod) for pod in pods], images)


def _tree(value: object) -> JsonObject:
    tree: JsonObject = msgspec.to_builtins(value)
    return tree


def _is_unhealthy(view: View, pod: JsonObject) -> bool:
    return any(has_ended(mate) for mate in view.mates(pod))


def _is_asked_for(view: View, pod: JsonObject) -> bool:
    return any(name_of(mate) in asked_away(view.spec) for mate in view.mates(pod))


def _is_incomplete(view: View, pod: JsonObject) -> bool:
    group, mates = find_group(view.spec, label(pod, "group")), view.mates(pod)
    return group is not None and (len(mates) < hosts_of(group) or any(map(is_terminating, mates)))


def _is_in_suspended_group(view: View, pod: JsonObject) -> bool:
    group = find_group(view.spec, label(pod, "group"))
    return group is not None and group.get("suspend") is True


def _is_surplus(view: View, pod: JsonObject) -> bool:
    """One that has ended may hold its place for a while before it is replaced; beside it no live one is too many."""
    name = label(pod, "group")
    counts = is_live if is_live(pod) else lambda each: not is_terminating(each)
    staying = [each for each in workers_in(view.pods, name) if counts(each)]
    return not is_autoscaling(view.spec) and len(staying) > wanted_workers(view.spec, name)


def _is_of_another_spec(view: View) -> bool:
    """Of Recreate, and some Pod really is of another spec: what only scales restarts nothing."""
    is_recreated = view.spec.get("upgradeStrategy", {}).get("type") == "Recreate"
    return is_recreated and any(_differs(view, pod) for pod in view.pods)


def _differs(view: View, pod: JsonObject) -> bool:
    group = find_group(view.spec, label(pod, "group"))
    wanted = view.spec["headGroupSpec"] if label(pod, "node-type") == HEAD else group
    image = wanted["template"]["spec"]["containers"][0]["image"] if wanted is not None else ""
    return view.images[uid_of(pod)] != image


REASONS: dict[str, Callable[[View, JsonObject], bool]] = {
    Because.UNHEALTHY: _is_unhealthy,
    Because.ASKED_FOR: _is_asked_for,
    Because.INCOMPLETE_REPLICA: _is_incomplete,
    Because.GROUP_SUSPENDED: _is_in_suspended_group,
    Because.GROUP_REMOVED: lambda view, pod: find_group(view.spec, label(pod, "group")) is None,
    Because.SUSPENDED: lambda view, _pod: has_condition(view.cluster, SUSPENDING),
    Because.SPEC_CHANGED: lambda view, _pod: _is_of_another_spec(view),
    Because.CLUSTER_DELETED: lambda view, _pod: bool(view.cluster["metadata"].get("deletionTimestamp")),
    Because.SCALE_DOWN: _is_surplus,
}


def _deletes(plan: Plan) -> Iterator[Delete]:
    return (action for action in plan.actions() if isinstance(action, Delete) and action.ref.kind == "Pod")


def find_untrue_reason(view: View, plan: Plan) -> Iterator[str]:
    pods = {uid_of(pod): pod for pod in view.pods}
    for delete in _deletes(plan):
        pod = pods.get(delete.uid)
        if pod is None:
            yield f"{delete.ref} goes ({delete.because}) and is not the cluster's own in its view"
        elif is_terminating(pod) or not REASONS[delete.because](view, pod):
            yield f"{delete.ref} goes because of {delete.because}, which is not so in the view"


def find_wrong_victims(view: View, plan: Plan) -> Iterator[str]:
    victims = {delete.uid for delete in _deletes(plan) if delete.because == Because.SCALE_DOWN}
    parting = {delete.uid for delete in _deletes(plan)}
    for group in view.groups:
        name, hosts = group["groupName"], hosts_of(group)
        staying = [pod for pod in workers_in(view.pods, name) if is_live(pod)]
        going = [pod for pod in staying if uid_of(pod) in victims]
        left = [pod for pod in staying if uid_of(pod) not in parting]
        if going and len(left) < wanted_workers(view.spec, name):
            yield f"{len(going)} workers of {name} go, and {len(left)} are left: too few"
        if going and hosts == 1 and any(map(is_ready, going)) and not all(map(is_ready, left)):
            yield f"a worker of {name} goes that is ready, and one stays that is not"
