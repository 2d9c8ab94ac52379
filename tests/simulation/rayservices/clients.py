"""Whoever uses a RayService: asks it twice a second, and from the first answer on every request is answered.

V7: in a world whose Pods and whose Serve do their work, whatever happens to the operator, no request fails. A service
that is to be suspended or to go is not asked.
"""

import asyncio
from collections.abc import Iterator

from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.world import World
from simulation.rayclusters.manifests import NAMESPACE
from simulation.rayclusters.reading import is_terminating, label
from simulation.rayservices.gateways import targets_of
from simulation.rayservices.reading import condition, route_of
from simulation.rayservices.serves import Serves, endpoints_of

PAUSE_SECONDS = 0.5


class Client:
    def __init__(self, world: World, serves: Serves, service: str) -> None:
        self.answered = 0
        self._world = world
        self._serves = serves
        self._service = service
        self._is_served = False

    async def run(self) -> None:
        """Until the world ends."""
        while True:
            await asyncio.sleep(PAUSE_SECONDS)
            service = self._world.state.get("rayservices", NAMESPACE, self._service)
            if service is None or not _is_asked(service):
                self._is_served = False
                continue
            failure = next(self._find_failure(), None)
            if failure is None:
                self._is_served = True
                self.answered += 1
            elif self._is_served:
                self._world.report(f"V7: a request to {self._service} fails: {failure}")

    def _find_failure(self) -> Iterator[str]:
        """Any endpoint may get the request, so all have to answer."""
        state = self._world.state
        for cluster in targets_of(state, self._service) or [route_of(state, self._service)]:
            yield from self._find_failure_of(cluster)

    def _find_failure_of(self, cluster: str) -> Iterator[str]:
        endpoints = endpoints_of(self._world.state, cluster)
        if not endpoints:
            yield f"{cluster or 'no cluster'} has no endpoint"
        heads = self._serves.heads_of(cluster)
        if endpoints and not any(map(self._serves.can_answer, heads)):
            yield f"no application runs on {label(endpoints[0], 'cluster')}"


def _is_asked(service: JsonObject) -> bool:
    is_resting = any(condition(service, type_)[0] == "True" for type_ in ("Suspending", "Suspended"))
    return not (is_resting or is_terminating(service) or service["spec"].get("suspend"))
