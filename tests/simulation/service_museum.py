"""Bugs that operators of RayServices have had, each as a small world, and the bug to prove it.

An exhibit is one user and one trouble, without chance; the rules it is judged by are the laws of the random worlds. In
each of them a client asks all the time, and is answered.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from heliostat.testing.simulation.faults import LoseReply
from heliostat.testing.simulation.script import Script
from heliostat.testing.simulation.world import Violation
from simulation.job_museum import At
from simulation.rayclusters.manifests import NAMESPACE, group
from simulation.rayclusters.town import Town
from simulation.rayclusters.worlds import upgrade_at_rest
from simulation.rayservices import mutants as bugs
from simulation.rayservices.reading import ACTIVE, PENDING, clusters_of, route_of
from simulation.rayservices.rest import come_to_rest
from simulation.rayservices.workloads import Owner, cluster_config, serve_config, stuck_upgrade, timeout, workers_only


class ServiceExhibit(Struct, frozen=True, kw_only=True):
    name: str
    visit: Callable[[Town, Owner], Awaitable[None]]
    bug: Callable[[], Any]  # planted, it must break the exhibit
    script: Callable[[], Script] = Script
    is_asked: bool = True  # by a client that is always answered


async def serve_has_not_started(town: Town, owner: Owner) -> None:
    """Requests were switched to a cluster without an application: 502s."""
    await stuck_upgrade(town, owner.name)


async def the_weight_before_the_endpoint(town: Town, owner: Owner) -> None:
    """Applications run, and no Pod is ready for requests yet."""
    await workers_only(town, owner.name)


async def a_head_service_that_cannot_be_changed(town: Town, owner: Owner) -> None:
    """Somebody else's Service has its name: requests move all the same."""
    spec = {"ports": [{"port": 80}], "selector": {"app": "theirs"}}
    metadata = {"name": f"{owner.name}-head-svc"}
    theirs = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    await town.world.request("POST", f"/api/v1/namespaces/{NAMESPACE}/services", theirs)
    await owner.create()
    await owner.until_served()
    await owner.edit(rayClusterConfig=cluster_config(2))
    await owner.until_served()


async def the_answer_to_a_create_is_lost(town: Town, owner: Owner) -> None:
    """An orphan, or a second cluster for one owner."""
    await owner.create()
    await owner.until_served()
    if (made := town.world.state.created["rayclusters"]) != 1:
        raise Violation(f"V2: {made} clusters were made for one service")


async def another_version_of_the_operator(town: Town, owner: Owner) -> None:
    """The hash was another one, and all services rolled."""
    await owner.create(group("g", 1))
    await owner.until_served()
    await come_to_rest(town.world)
    await upgrade_at_rest(town)


async def the_operator_is_started_again(town: Town, owner: Owner) -> None:
    """It forgot what it had sent, and sent it again to every service."""
    await owner.create()
    await owner.until_served()
    for life in town.operators:
        life.kill()
    await asyncio.sleep(60.0)
    await owner.until_served()


async def a_head_comes_back_empty(town: Town, owner: Owner) -> None:
    """The applications were missing from then on: the operator remembered to have sent them."""
    await owner.create()
    await owner.until_served()
    await owner.lose_head(ACTIVE)
    await asyncio.sleep(10.0)
    await owner.until_served()


async def a_third_spec_in_the_middle(town: Town, owner: Owner) -> None:
    """It dead-locked, or was forgotten."""
    await owner.create()
    await owner.until_served()
    await owner.edit(rayClusterConfig=cluster_config(2), serveConfigV2=serve_config(2))
    await owner.until("prepares another cluster", lambda: bool(owner.named(PENDING)))
    await asyncio.sleep(5.0)
    await owner.edit(rayClusterConfig=cluster_config(3), serveConfigV2=serve_config(3))
    await owner.until_served()
    await come_to_rest(town.world)


async def the_former_cluster(town: Town, owner: Owner) -> None:
    """It went before its requests were answered, or stayed for ever."""
    await owner.create(rayClusterDeletionDelaySeconds=40)
    await owner.until_served()
    await owner.edit(rayClusterConfig=cluster_config(2))
    first = owner.named(ACTIVE)
    await owner.until("moves", lambda: route_of(town.world.state, owner.name) != first)
    await asyncio.sleep(35.0)
    if len(clusters_of(town.world.state, owner.service() or {})) != 2:
        raise Violation("V7: the former cluster is gone before its time")
    await owner.until_served()


async def it_was_given_up(town: Town, owner: Owner) -> None:
    """What had timed out was never given up, or never came back."""
    await timeout(town, owner.name)


SERVICE_MUSEUM = (
    ServiceExhibit(name="kuberay-1559", visit=serve_has_not_started, bug=bugs.whatever_answers_is_ready),
    ServiceExhibit(
        name="kuberay-3166", visit=the_weight_before_the_endpoint, bug=bugs.nobody_has_to_answer, is_asked=False
    ),
    ServiceExhibit(
        name="kuberay-2343", visit=a_head_service_that_cannot_be_changed, bug=bugs.the_head_service_comes_first
    ),
    ServiceExhibit(
        name="kuberay-2374",
        visit=the_answer_to_a_create_is_lost,
        bug=bugs.a_name_that_nobody_wrote_down,
        script=lambda: At("rayclusters", LoseReply()),
    ),
    ServiceExhibit(name="kuberay-2315", visit=another_version_of_the_operator, bug=bugs.a_new_version_rolls_everything),
    ServiceExhibit(name="kuberay-2591", visit=the_operator_is_started_again, bug=bugs.memory_decides_what_is_sent),
    ServiceExhibit(
        name="kuberay-4717", visit=a_head_comes_back_empty, bug=bugs.what_was_sent_is_not_sent_again, is_asked=False
    ),
    ServiceExhibit(name="kuberay-4601", visit=a_third_spec_in_the_middle, bug=bugs.a_third_spec_is_ignored),
    ServiceExhibit(name="kuberay-730", visit=the_former_cluster, bug=bugs.the_former_cluster_goes_at_once),
    ServiceExhibit(name="kuberay-4739", visit=it_was_given_up, bug=bugs.it_is_given_up_and_goes_on, is_asked=False),
)
