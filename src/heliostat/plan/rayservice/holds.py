"""What keeps an upgrade from its next step, in the order in which it is looked at: the Gateway and its route, the
limits of the spec, the interval, and the cluster that requests would go to.
"""

from heliostat.desired.rayservice.names import gateway_name
from heliostat.kube.facts import Unknown
from heliostat.plan.draft import NOTHING, Part, wait_beside
from heliostat.plan.rayservice.gateway import (
    find_gateway,
    find_route,
    is_gateway_ready,
    is_route_ready,
    is_route_taken_up,
)
from heliostat.plan.rayservice.observed import Look
from heliostat.plan.rayservice.pair import Pair
from heliostat.plan.rayservice.reasons import Hold
from heliostat.plan.rayservice.routing import can_answer
from heliostat.plan.rayservice.serving import Health, ServeSight
from heliostat.plan.rayservice.shares import seconds_until_due

TAKE_UP_SECONDS = 10.0  # who serves a Gateway and does not tell that it saw a change is not waited for any longer
RETURN_SECONDS = 30.0  # so long beyond the interval requests wait for the active cluster to grow, on their way back


def find_obstacle(look: Look, pair: Pair) -> Part | None:
    """What keeps capacity and requests from moving: nobody would carry it out."""
    observed, gateway = look.observed, gateway_name(look.observed.service.metadata.name)
    if not is_gateway_ready(find_gateway(observed)):
        return wait_beside(Hold.STEP, "the upgrade", "its Gateway is ready")
    route = find_route(observed)
    if isinstance(route, Unknown) or not is_route_ready(route, gateway):
        return wait_beside(Hold.ROUTE, "the HTTPRoute", "it is accepted, and its Services are resolved")
    moved = pair.split.gaining.moved
    left = 0.0 if moved is None else moved + TAKE_UP_SECONDS - look.now
    if left <= 0 or is_route_taken_up(route, gateway):
        return None
    until = "its last change was seen by who serves the Gateway"
    return wait_beside(Hold.ROUTE, "the HTTPRoute", until, wake_after=left)


def find_hold(look: Look, pair: Pair, serve: tuple[ServeSight, ServeSight]) -> Part | None:
    """Why requests stay where they are although nobody is in the way; None: they move."""
    limits = pair.limits
    if 0 in (limits.surge, limits.step):
        return wait_beside(Hold.NEVER_MOVES, "spec.upgradeStrategy.clusterUpgradeOptions", "it is changed")
    is_told = not pair.has_news and pair.pending.traffic is not None  # else the status has to follow first
    if not is_told or pair.next_weights == pair.split.weights:
        return NOTHING
    due = seconds_until_due(pair.split, limits, look.now)
    if due > 0:
        until = f"intervalSeconds ({limits.interval} s) have passed"
        return wait_beside(Hold.STEP, _describe_step(pair), until, wake_after=due)
    return _find_lack_on_the_way_back(look, pair, serve) if pair.split.is_back else _find_lack(look, pair, serve[1])


def _find_lack(look: Look, pair: Pair, pending: ServeSight) -> Part | None:
    """What the pending cluster lacks to take more requests."""
    name = pair.pending.name
    if not pending.is_ready:
        return wait_beside(Hold.STEP, _describe_step(pair), f"the applications run on {name} with that capacity")
    if not can_answer(look.observed, name):
        return wait_beside(Hold.NO_ENDPOINT, f"RayCluster {name}", "one of its Pods can answer")
    return None


def _find_lack_on_the_way_back(look: Look, pair: Pair, serve: tuple[ServeSight, ServeSight]) -> Part | None:
    """What the active cluster lacks; that its applications have to grow there is not waited for without end."""
    observed, (active, pending), name = look.observed, serve, pair.active.name
    if pending.is_broken or not can_answer(observed, pair.pending.name):
        return None  # it cannot get worse
    if not can_answer(observed, name):
        return wait_beside(Hold.NO_ENDPOINT, f"RayCluster {name}", "one of its Pods can answer")
    left = (pair.split.gaining.moved or 0.0) + pair.limits.interval + RETURN_SECONDS - look.now
    if active.health in (Health.READY, Health.UNKNOWN) or left <= 0:
        return None
    until = f"the applications run on {name} with that capacity"
    return wait_beside(Hold.STEP, _describe_step(pair), until, wake_after=left)


def _describe_step(pair: Pair) -> str:
    split, wanted = pair.split, pair.next_weights
    return (
        f"{pair.pending.name} has {split.pending.traffic} % of the requests (capacity {split.pending.capacity} %),"
        f" {pair.active.name} {split.active.traffic} % ({split.active.capacity} %);"
        f" next {wanted[1]} % and {wanted[0]} %"
    )
