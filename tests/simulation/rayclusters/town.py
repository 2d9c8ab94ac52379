"""A world that RayClusters live in: the definition, the operator, Kubernetes' own controllers, nodes, bystanders."""

import random

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Life, World
from simulation.programs import Crew, host_program
from simulation.rayclusters.manifests import (
    CLUSTERS,
    CRDS,
    NAMESPACE,
    PODS,
    bare_cluster,
    cluster,
    cluster_with_ingress,
    foreign_pod,
    group,
    ray_cluster_definition,
)
from simulation.rayclusters.nodes import Conduct, run_nodes
from simulation.rayclusters.programs import Staff, kubernetes_crew, leading_operator, operator_program
from simulation.rayclusters.reading import is_live, is_ready, pods_of, uid_of

OPERATOR = "operator"
LEADERS = ("a", "b")
KUBERNETES = "kubernetes"
BARRED = "barred"  # a cluster that needs what the operator may not create


class Town(Struct, kw_only=True):
    world: World
    staff: Staff
    conduct: Conduct
    operators: list[Life]
    branch: str = ""  # which way a workload goes that has several; else chance decides


async def found_town(
    world: World,
    staff: Staff,
    conduct: Conduct,
    *,
    two_operators: bool = False,
    branch: str = "",
    crew: Crew = kubernetes_crew,
) -> Town:
    await world.request("POST", CRDS, ray_cluster_definition())
    world.start(KUBERNETES, host_program(world, KUBERNETES, crew))
    if two_operators:
        operators = [world.start(name, leading_operator(world, staff, name)) for name in LEADERS]
    else:
        operators = [world.start(OPERATOR, operator_program(world, staff))]
    world.spawn(run_nodes(world, conduct))
    staff.lost = conduct.lost
    return Town(world=world, staff=staff, conduct=conduct, operators=operators, branch=branch)


async def settle_bystanders(town: Town, chance: random.Random) -> None:
    """A spec that is refused, a cluster that another controller manages, a Pod that only wears labels; maybe more."""
    world = town.world
    refused = group("g", 1, minReplicas=5, maxReplicas=1)
    await world.request("POST", CLUSTERS, cluster("refused", refused))
    elsewhere = cluster("elsewhere", group("g", 1), managedBy="kueue.x-k8s.io/multikueue")
    await world.request("POST", CLUSTERS, elsewhere)
    await world.request("POST", PODS, foreign_pod("foreign", "c0", "g"))
    if chance.random() < 0.2:
        await world.request("POST", CLUSTERS, bare_cluster(chance.randrange(4)))
    if chance.random() < 0.2:
        town.staff.forbidden = "ingresses"
        await world.request("POST", CLUSTERS, cluster_with_ingress(BARRED, group("g", 1)))


async def lift_the_ban(town: Town) -> None:
    """L2: by then everything is there that was not forbidden."""
    cluster = town.world.state.get("rayclusters", NAMESPACE, BARRED)
    if cluster is not None:
        what = "L2: the Pods are ready, although there is no Ingress"
        await town.world.until(what, lambda: _ready_pods(town.world.state, cluster) == 2, 400.0)
    town.staff.forbidden = ""


def _ready_pods(state: State, cluster: JsonObject) -> int:
    return sum(is_live(pod) and is_ready(pod) for pod in pods_of(state, uid_of(cluster)))
