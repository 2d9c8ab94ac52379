"""Bugs that operators of Ray have had, each as a small world that would show it again, and the bug to prove it."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec import Struct

from heliostat.testing.simulation.faults import Deaf, Fault, Lag, Miss
from heliostat.testing.simulation.script import Script
from heliostat.testing.simulation.world import Violation, World
from simulation import mutants as loop
from simulation.kubelet import MERGE
from simulation.rayclusters import planted_clusters as clusters
from simulation.rayclusters import planted_pods as pods
from simulation.rayclusters import planted_views as views
from simulation.rayclusters.manifests import CLUSTERS, PODS, bare_cluster, cluster, cluster_with_ingress, group
from simulation.rayclusters.nodes import lose_node
from simulation.rayclusters.people import User
from simulation.rayclusters.reading import HEAD, WORKER, is_live, is_ready, name_of, uid_of
from simulation.rayclusters.rest import come_to_rest
from simulation.rayclusters.town import LEADERS, Town
from simulation.rayclusters.worlds import upgrade_at_rest


class Watches(Script):
    """Every watch that the operator opens before ``until`` has this fault."""

    def __init__(self, fault: Fault, until: float = 90.0) -> None:
        super().__init__()
        self._fault = fault
        self._before = until

    def fault_at(self, program: str, call: int, *, kind: str, resource: str, now: float) -> Fault | None:
        return self._fault if program == "operator" and kind == "watch" and now < self._before else None


LAGGING = partial(Watches, Lag(6.0))
MISSING = partial(Watches, Miss(0, 20.0), until=60.0)
DEAF = partial(Watches, Deaf(0), until=15.0)


class Exhibit(Struct, frozen=True, kw_only=True):
    name: str
    visit: Callable[[Town, User], Awaitable[None]]
    bug: Callable[[], Any]  # planted, it must break the exhibit
    script: Callable[[], Script] = Script
    stop_seconds: float = 3.0
    two_operators: bool = False
    forbidden: str = ""  # what the operator may not create


async def scale_up_while_the_view_lags(town: Town, user: User) -> None:
    """Extra Pods from a count that is not true any more, then a random one deleted."""
    await user.create(cluster("c0", group("g", 1)))
    await asyncio.sleep(30.0)
    await user.edit_group(replicas=5)
    await come_to_rest(town.world, town.staff)
    _expect_pods(town.world, made=6, deleted=0)


async def lose_the_head_while_the_view_lags(town: Town, user: User) -> None:
    """Two heads."""
    await user.create(cluster("c0", group("g", 1)))
    await come_to_rest(town.world, town.staff, 60.0)
    await user.delete_a_pod(HEAD)
    await come_to_rest(town.world, town.staff)
    _expect_pods(town.world, made=3, deleted=1)


async def ten_to_nine_while_termination_is_slow(town: Town, user: User) -> None:
    """Terminating Pods counted as staying: more than one went."""
    await user.create(cluster("c0", group("g", 10)))
    await come_to_rest(town.world, town.staff, 60.0)
    for replicas in (9, 8):
        await user.edit_group(replicas=replicas)
        await asyncio.sleep(5.0)
    await come_to_rest(town.world, town.staff)
    _expect_pods(town.world, made=11, deleted=2)


async def a_pod_stuck_on_a_lost_node(town: Town, user: User) -> None:
    """L3: it blocked its group for ever."""
    await user.create(cluster("c0", group("g", 3)))
    await come_to_rest(town.world, town.staff, 60.0)
    worker = next(pod for pod in user.pods(WORKER) if pod["spec"]["nodeName"] != _node_of_head(user))
    await lose_node(town.world, town.conduct, worker["spec"]["nodeName"])
    enough = [pod for pod in user.pods(WORKER) if is_live(pod)]
    if len(enough) == 3:
        raise Violation("no worker was lost")
    await town.world.until("L3: three workers are ready", lambda: _ready_workers(user) == 3, 90.0)


async def the_same_name_again(town: Town, user: User) -> None:
    """What was remembered of the first one, gone before its Pods were seen, held the second one up."""
    await user.create(cluster("c0", group("g", 3)))
    await town.world.until("the Pods are made", lambda: len(user.pods()) == 4, 60.0)
    await user.delete()
    await town.world.until("nothing is left", lambda: not [*town.world.state.all("pods")], 60.0)
    await asyncio.sleep(90.0)  # until the view shows it too
    await user.create(cluster("c0", group("g", 1)))
    await town.world.until("ready", partial(_has_ready_workers, user, 1), 60.0)
    await come_to_rest(town.world, town.staff)


async def a_group_is_removed(town: Town, user: User) -> None:
    """Its Pods stayed for ever."""
    await user.create(cluster("c0", group("g", 1), group("h", 2)))
    await come_to_rest(town.world, town.staff, 60.0)
    await user.edit(lambda tree: tree["spec"]["workerGroupSpecs"].pop())
    await come_to_rest(town.world, town.staff)
    if (workers := len(user.pods(WORKER))) != 1:
        raise Violation(f"C7: {workers} workers are there, of one that is wanted")


async def a_failed_pod_is_asked_away(town: Town, user: User) -> None:
    """It was filtered out, and the autoscaler waited for its end."""
    await user.create(cluster("c0", group("g", 2), enableInTreeAutoscaling=True))
    await come_to_rest(town.world, town.staff, 60.0)
    failed = name_of(user.pods(WORKER)[0])
    town.operators[0].kill()  # so that it sees both at once
    await town.world.request("PATCH", f"{PODS}/{failed}/status", {"status": {"phase": "Failed"}}, MERGE)
    await user.edit_group(replicas=1, scaleStrategy={"workersToDelete": [failed]})
    await come_to_rest(town.world, town.staff)
    if any(name_of(pod) == failed for pod in user.pods()):
        raise Violation("C8: the failed Pod is still there")


async def another_version_of_the_operator(town: Town, user: User) -> None:
    """The hash depended on the version, and every cluster was made anew."""
    await user.create(cluster("c0", group("g", 1), upgradeStrategy={"type": "Recreate"}))
    await come_to_rest(town.world, town.staff, 60.0)
    await upgrade_at_rest(town)
    _expect_pods(town.world, made=2, deleted=0)


async def fields_that_are_absent(town: Town, user: User) -> None:
    """X1: a field that was not there brought the operator down, again and again."""
    for number in range(4):
        tree = bare_cluster(number)
        tree["metadata"]["name"] += f"-{number}"
        await town.world.request("POST", CLUSTERS, tree)
    await user.create(cluster("c0", group("g", 1)))
    await town.world.until("X1: the sound one is ready", partial(_has_ready_workers, user, 1), 60.0)
    await town.world.until_quiet()


async def times_that_nobody_knows(town: Town, user: User) -> None:
    """A Pod whose status has a time of null could not be read, counted as gone, and a second head was made."""
    await user.create(cluster("c0", group("g", 1)))
    await come_to_rest(town.world, town.staff, 60.0)
    head = name_of(user.pods(HEAD)[0])
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": None}
    await town.world.request("PATCH", f"{PODS}/{head}/status", {"status": {"conditions": [ready]}}, MERGE)
    await come_to_rest(town.world, town.staff)
    _expect_pods(town.world, made=2, deleted=0)


async def an_ingress_that_may_not_be_made(town: Town, user: User) -> None:
    """L2: the first error ended the whole look, and whatever came after it never happened."""
    await user.create(cluster_with_ingress("c0", group("g", 2)))
    await town.world.until("L2: the Pods are there", partial(_has_ready_workers, user, 2), 30.0)


async def a_watch_that_went_deaf(town: Town, user: User) -> None:
    """L4: the operator heard nothing any more, and nobody noticed."""
    await user.create(cluster("c0", group("g", 1)))
    await asyncio.sleep(20.0)
    await user.edit_group(replicas=2)
    await town.world.until("L4: it is heard again", partial(_has_ready_workers, user, 2), 65.0)
    await come_to_rest(town.world, town.staff)


async def the_leader_dies(town: Town, user: User) -> None:
    """L5: the lease, and a little more."""
    await user.create(cluster("c0", group("g", 1)))
    await come_to_rest(town.world, town.staff, 60.0)
    lease = town.world.state.get("leases", "kube-system", "ray-operator-leader") or {}
    leader = LEADERS.index(lease["spec"]["holderIdentity"][0])
    town.operators[leader].kill()
    await user.edit_group(replicas=2)
    await town.world.until("L5: another one leads", lambda: len(user.pods(WORKER)) == 2, 15.0 + 5.0)
    await come_to_rest(town.world, town.staff)


def _expect_pods(world: World, *, made: int, deleted: int) -> None:
    """How many there have ever been, and how many of them are gone: histories, not only ends."""
    ever = {uid_of(pod) for pod in world.state.ever("pods")}
    here = {uid_of(pod) for pod in world.state.all("pods")}
    if (len(ever), len(ever - here)) != (made, deleted):
        raise Violation(f"{len(ever)} Pods were made and {len(ever - here)} deleted, not {made} and {deleted}")


def _node_of_head(user: User) -> str:
    return str(user.pods(HEAD)[0]["spec"]["nodeName"])


def _ready_workers(user: User) -> int:
    return sum(is_live(pod) and is_ready(pod) for pod in user.pods(WORKER))


def _has_ready_workers(user: User, count: int) -> bool:
    return _ready_workers(user) == count


SLOWLY = partial(Watches, Lag(6.0), 400.0)

MUSEUM = (
    Exhibit(name="kuberay-715", visit=scale_up_while_the_view_lags, bug=loop.skip_freshness, script=LAGGING),
    Exhibit(
        name="kuberay-105",
        visit=lose_the_head_while_the_view_lags,
        bug=pods.a_leaving_head_counts_as_gone,
        script=SLOWLY,
        stop_seconds=25.0,
    ),
    Exhibit(
        name="kuberay-1936",
        visit=ten_to_nine_while_termination_is_slow,
        bug=pods.leaving_workers_count_as_staying,
        stop_seconds=25.0,
    ),
    Exhibit(name="kuberay-4078", visit=a_pod_stuck_on_a_lost_node, bug=pods.a_stuck_pod_is_waited_for),
    Exhibit(
        name="kuberay-4039", visit=the_same_name_again, bug=views.expectations_outlive_their_cluster, script=MISSING
    ),
    Exhibit(name="kuberay-1739", visit=a_group_is_removed, bug=pods.removed_groups_stay),
    Exhibit(name="kuberay-942", visit=a_failed_pod_is_asked_away, bug=pods.failed_pods_are_not_asked_away),
    Exhibit(name="kuberay-2315", visit=another_version_of_the_operator, bug=clusters.a_new_version_recreates),
    Exhibit(name="kuberay-4102", visit=fields_that_are_absent, bug=clusters.an_absent_field_breaks_it),
    Exhibit(name="times-of-null", visit=times_that_nobody_knows, bug=views.an_unreadable_pod_is_gone),
    Exhibit(
        name="kuberay-2343",
        visit=an_ingress_that_may_not_be_made,
        bug=views.the_first_error_ends_the_look,
        forbidden="ingresses",
    ),
    Exhibit(name="deaf-watch", visit=a_watch_that_went_deaf, bug=views.silence_is_not_noticed, script=DEAF),
    Exhibit(name="dead-leader", visit=the_leader_dies, bug=views.a_lease_never_expires, two_operators=True),
)
