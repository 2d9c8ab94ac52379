"""What users do to RayClusters, one peculiarity each. Every workload ends with a wish that can be fulfilled.

Chance is the seed's; the number of steps is small, because a crash is tried at every call that they cause.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from simulation.rayclusters.manifests import CRDS, cluster, group, ray_cluster_definition, set_image
from simulation.rayclusters.nodes import NODES, flap_node, lose_node, node_of
from simulation.rayclusters.people import STEWARD, Autoscaler, Steward, User
from simulation.rayclusters.reading import HEAD, WORKER
from simulation.rayclusters.town import Town

CALM_SECONDS = 150.0  # by then nothing fails any more, and everybody has seen everything
RESTLESS_SECONDS = 60.0  # that an autoscaler wants something else all the time

Workload: TypeAlias = Callable[[Town, str], Awaitable[None]]


async def create(town: Town, name: str) -> None:
    await User(town.world, name).create(cluster(name, group("g", 2), group("h", 1)))


async def scale(town: Town, name: str) -> None:
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 2)))
    steps = user.chance.choice(([user.chance.randint(0, 5) for _ in range(3)], [5, 4, 3]))
    for replicas in steps:
        await user.pause()
        await user.edit_group(replicas=replicas)
    await user.pause()
    await user.edit_group(replicas=2)


async def autoscale(town: Town, name: str) -> None:
    """The autoscaler and a user at the same time."""
    user = User(town.world, name)
    version = user.chance.choice(("v1", "v2"))
    spec: dict[str, Any] = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": version}}
    town.conduct.failing = max(town.conduct.failing, user.chance.choice((0.0, 0.5)))
    await user.create(cluster(name, group("g", 2), group("h", 1), **spec))
    scaler = Autoscaler(user, restless_until=town.world.time() + RESTLESS_SECONDS)
    town.world.spawn(scaler.run())
    for _ in range(3):
        await user.pause(15.0)
        await user.edit_group(replicas=user.chance.randint(0, 4))
    await user.pause(15.0)


async def suspend(town: Town, name: str) -> None:
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 2)))
    for _ in range(2):
        await user.pause(12.0)
        await user.edit_spec(suspend=True)
        await user.pause(12.0)
        await user.edit_spec(suspend=False)
    if user.chance.random() < 0.3:
        await user.pause()
        await user.edit_spec(suspend=True)


async def suspend_group(town: Town, name: str) -> None:
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 2), group("h", 1)))
    await user.pause(12.0)
    await user.edit_group(suspend=True)
    await user.pause(12.0)
    if user.chance.random() < 0.7:
        await user.edit_group(suspend=False)


async def recreate(town: Town, name: str) -> None:
    """Another number of workers restarts nothing; another image: all Pods go and come back new."""
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 2), upgradeStrategy={"type": "Recreate"}))
    await user.pause(15.0)
    await user.edit_group(replicas=3)
    for image in ("ray:2", "ray:3", "ray:4"):
        await user.pause(15.0)
        await user.edit(lambda tree, image=image: set_image(tree, image))  # type: ignore[misc]


async def remove_group(town: Town, name: str) -> None:
    """One in the middle of everything, and sometimes another one when all is calm."""
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 1), group("i", 1), group("h", 2)))
    await user.pause(12.0)
    await user.edit(lambda tree: tree["spec"]["workerGroupSpecs"].pop())
    await user.pause(12.0)
    if user.chance.random() < 0.3:
        await user.edit(lambda tree: tree["spec"]["workerGroupSpecs"].append(group("h", 1)))
    if user.chance.random() < 0.5:
        await asyncio.sleep(max(0.0, CALM_SECONDS - town.world.time()))
        await user.edit(lambda tree: tree["spec"]["workerGroupSpecs"].pop())


async def multi_host(town: Town, name: str) -> None:
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 2, numOfHosts=2)))
    await user.pause(12.0)
    await user.delete_a_pod(WORKER)
    await user.pause(12.0)
    await user.edit_group(replicas=user.chance.randint(1, 3))


async def keep_in_redis(town: Town, name: str) -> None:
    """The head is lost; then the cluster goes, and its clean-up goes well, fails or hangs."""
    user = User(town.world, name)
    town.conduct.cleanup = town.branch or user.chance.choice(BRANCHES["redis"])
    deadline = {"ray.io/gcs-ft-deletion-timeout": "60"} if town.conduct.cleanup == "hangs" else {}
    tree = cluster(name, group("g", 1), annotations=deadline, gcsFaultToleranceOptions={"redisAddress": "redis:6379"})
    tree["metadata"]["finalizers"] = [STEWARD]
    town.world.spawn(Steward(user).run())
    await user.create(tree)
    await user.pause(12.0)
    await user.delete_a_pod(HEAD)
    await user.pause(12.0)
    await user.delete()
    await user.until_gone()
    if user.chance.random() < 0.5:
        await user.create(tree)


async def with_a_token(town: Town, name: str) -> None:
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 1), authOptions={"mode": "token"}))
    await user.pause()
    await user.edit_group(replicas=2)


async def delete_and_create_again(town: Town, name: str) -> None:
    """Another object with the same name, while the first one's are still there, or before they were even seen."""
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 3)))
    if user.chance.random() < 0.5:
        await town.world.until("the Pods are made", lambda: len(user.pods()) == 4)
    else:
        await user.pause(user.chance.choice((2.0, 12.0)))
    await user.delete(user.chance.choice(("Background", "Foreground")))
    await user.until_gone()
    await user.pause(user.chance.choice((0.0, 30.0)))
    await user.create(cluster(name, group("g", 1), group("h", 1)))


async def lose_pods(town: Town, name: str) -> None:
    """By hand, the head too."""
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 2)))
    for _ in range(3):
        await user.pause(10.0)
        await user.delete_a_pod(user.chance.choice((HEAD, WORKER)))


async def lose_a_node(town: Town, name: str) -> None:
    """Its Pods never finish terminating, one worker at least or the head; sometimes it is found again."""
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 3)))
    await user.pause(15.0)
    if user.chance.random() < 0.3:
        await flap_node(town.world, town.conduct, user.chance.choice(NODES))
    await town.world.until("the Pods are bound", lambda: all(map(node_of, user.pods())) and bool(user.pods(HEAD)))
    victims = user.pods(town.branch or user.chance.choice((HEAD, WORKER)))
    node = node_of(user.chance.choice(victims or user.pods()))
    await lose_node(town.world, town.conduct, node)
    if town.branch or user.chance.random() < 0.5:
        await asyncio.sleep(90.0)  # longer than a worker is waited for
        return
    await user.pause(15.0)
    await user.edit_group(replicas=2)
    if user.chance.random() < 0.5:
        await asyncio.sleep(user.chance.uniform(0.0, 90.0))
        town.conduct.lost.discard(node)


async def end_a_namespace(town: Town, name: str) -> None:
    """Whoever deletes it asks nobody; a clean-up that was pledged cannot be made there. Then it is there again."""
    user = User(town.world, name, namespace=f"{name}-home")
    way = town.branch or user.chance.choice(BRANCHES["end-a-namespace"])
    spec: dict[str, Any] = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}} if way == "pledged" else {}
    await user.make_namespace()
    await user.create(cluster(name, group("g", 2), **spec))
    await user.pause(user.chance.choice((2.0, 15.0)))
    await user.end_namespace()
    await user.until_homeless()
    await user.pause(user.chance.choice((0.0, 30.0)))
    await user.make_namespace()
    await user.create(cluster(name, group("g", 1), group("h", 1)))


async def lose_the_definition(town: Town, name: str) -> None:
    """All RayClusters go with it, and their Pods after them; then it comes back, and so does one of them."""
    user = User(town.world, name)
    await user.create(cluster(name, group("g", 2)))
    await user.pause(user.chance.choice((2.0, 15.0)))
    await town.world.request("DELETE", f"{CRDS}/rayclusters.ray.io")
    await town.world.until("C7: no RayCluster is left", lambda: not [*town.world.state.all("rayclusters")])
    await user.pause(user.chance.choice((2.0, 60.0)))
    await town.world.request("POST", CRDS, ray_cluster_definition())
    await user.create(cluster(name, group("g", 1), group("h", 1)))


WORKLOADS: dict[str, Workload] = {
    "create": create,
    "scale": scale,
    "autoscale": autoscale,
    "suspend": suspend,
    "suspend-group": suspend_group,
    "recreate": recreate,
    "remove-group": remove_group,
    "multi-host": multi_host,
    "redis": keep_in_redis,
    "token": with_a_token,
    "create-again": delete_and_create_again,
    "lose-pods": lose_pods,
    "lose-a-node": lose_a_node,
    "end-a-namespace": end_a_namespace,
    "lose-the-definition": lose_the_definition,
}

ALONE = ("lose-the-definition",)  # it takes along what others work on
AWAITING_AN_END = ("suspend", "redis", "create-again", "end-a-namespace")  # that Pods of a lost node never find

BRANCHES: dict[str, tuple[str, ...]] = {
    "redis": ("succeeds", "fails", "hangs"),
    "lose-a-node": (HEAD, WORKER),
    "end-a-namespace": ("plain", "pledged"),
}
