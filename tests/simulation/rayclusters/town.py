"""A world that RayClusters live in: the definition, the operator, Kubernetes' own controllers, nodes, bystanders."""

from msgspec import Struct

from heliostat.testing.simulation.world import Life, World
from simulation.programs import host_program
from simulation.rayclusters.manifests import CLUSTERS, CRDS, PODS, cluster, foreign_pod, group, ray_cluster_definition
from simulation.rayclusters.nodes import Conduct, run_nodes
from simulation.rayclusters.programs import Staff, kubernetes_crew, leading_operator, operator_program

OPERATOR = "operator"
LEADERS = ("a", "b")
KUBERNETES = "kubernetes"


class Town(Struct, kw_only=True):
    world: World
    staff: Staff
    conduct: Conduct
    operators: list[Life]


async def found_town(world: World, staff: Staff, conduct: Conduct, *, two_operators: bool = False) -> Town:
    await world.request("POST", CRDS, ray_cluster_definition())
    world.start(KUBERNETES, host_program(world, KUBERNETES, kubernetes_crew))
    if two_operators:
        operators = [world.start(name, leading_operator(world, staff, name)) for name in LEADERS]
    else:
        operators = [world.start(OPERATOR, operator_program(world, staff))]
    world.spawn(run_nodes(world, conduct))
    return Town(world=world, staff=staff, conduct=conduct, operators=operators)


async def settle_bystanders(world: World) -> None:
    """A spec that is refused, a cluster that another controller manages, a Pod that only wears labels."""
    refused = group("g", 1, minReplicas=5, maxReplicas=1)
    await world.request("POST", CLUSTERS, cluster("refused", refused))
    elsewhere = cluster("elsewhere", group("g", 1), managedBy="kueue.x-k8s.io/multikueue")
    await world.request("POST", CLUSTERS, elsewhere)
    await world.request("POST", PODS, foreign_pod("foreign", "c0", "g"))
