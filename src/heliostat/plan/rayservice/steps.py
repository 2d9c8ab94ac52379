"""One pass over two clusters that share the requests: which step is due, what it waits for, and when it is over.

In one pass the route is either read or moved, never both: a weight is moved when the status tells the one before, and
counts when the route was seen to have it. So a pass that is repeated, or lost, moves nothing twice.
"""

from msgspec import Struct
from msgspec.structs import replace

from heliostat.desired.rayservice.names import choose_cluster_name, gateway_name
from heliostat.kube.facts import Unknown
from heliostat.plan.draft import NOTHING, Draft, Part, wait_beside
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.clusters import ClusterChoice, ClusterInputs, decide_clusters
from heliostat.plan.rayservice.comparing import Fit
from heliostat.plan.rayservice.gateway import (
    find_gateway,
    find_route,
    find_used,
    is_gateway_ready,
    is_route_ready,
    is_route_taken_up,
    plan_route,
    read_weights,
)
from heliostat.plan.rayservice.observed import ACTIVE, PENDING, Look
from heliostat.plan.rayservice.reasons import Hold
from heliostat.plan.rayservice.routing import can_answer, follow_services
from heliostat.plan.rayservice.serving import Health, Order, ServeSight, is_head_ready, plan_serve
from heliostat.plan.rayservice.shares import (
    ALL,
    Split,
    StepLimits,
    is_moved,
    is_moved_back,
    next_weights,
    read_limits,
    seconds_until_due,
    step_capacity,
)
from heliostat.plan.rayservice.slots import Slot, read_slot

TO_ACTIVE = "Goal state reverted to the original cluster, rolling back to it."
TO_A_THIRD = "Goal state changed mid-upgrade, rolling back to original cluster."
TOO_LATE = "The upgrade took longer than its deadline, rolling back to original cluster."
TAKE_UP_SECONDS = 10.0  # who serves a Gateway and does not tell that it saw a change is not waited for any longer
# So long the status tells that all requests go to the next cluster, before that is the active one, or that all have
# come back: KubeRay's passes are 2 s apart, and who follows an upgrade by looking every second, as its own tests do,
# sees the last step too.
LAST_STEP_SECONDS = 2.0
RETURN_SECONDS = 30.0  # so long beyond the interval requests wait for the active cluster to grow, on their way back


class Pair(Struct, frozen=True):
    """Both clusters and how they share; ``has_news`` means that the route says what the status does not tell yet."""

    active: Slot
    pending: Slot
    split: Split
    has_news: bool = False


def plan_steps(draft: Draft, look: Look, inputs: ClusterInputs) -> statuses.Shown:
    observed, limits = look.observed, read_limits(look.observed.service)
    if observed.find_pending() is None:
        return _plan_absent(draft, look, inputs)
    pair = _read_pair(look, limits, is_back=inputs.is_back)
    obstacle = _find_obstacle(look, pair)
    can_grow = is_serve_known(look, pair.pending)
    split = pair.split if obstacle.waits else step_capacity(pair.split, limits, can_grow=can_grow)
    is_over = _is_over(look, pair.pending, split)
    if is_over and (left := _last_step_left(pair.split, look.now)) > 0:
        wait = wait_beside(Hold.STEP, "the upgrade", f"its last step was told for {LAST_STEP_SECONDS:.0f} s")
        obstacle, split, is_over = replace(wait, wake_after=left), pair.split, False
    pair = replace(pair, split=split)
    serve = _plan_serve(draft, look, inputs, split)
    follow_services(draft, observed, pair.active.name, look.settings)
    active = pair.active.showing(serve[0]).having(split.active.capacity)
    pending = pair.pending.showing(serve[1]).having(split.pending.capacity)
    if is_over:
        return _show(look, active, *_name_third(look, inputs)) if split.is_back else _show(look, pending, Slot(name=""))
    draft.add("route", plan_route(observed, _choose_weights(draft, look, pair, limits, serve, obstacle)))
    return _show(look, active, pending, rollback=_why_back(inputs))


def _plan_absent(draft: Draft, look: Look, inputs: ClusterInputs) -> statuses.Shown:
    """The pending cluster is not there, or not any more: the active one has everything, at once."""
    observed, active = look.observed, read_slot(look.observed, ACTIVE).having(ALL)
    draft.add("route", plan_route(observed, ((active.name, ALL), (observed.pending_name, 0))))
    follow_services(draft, observed, active.name, look.settings)
    if find_used(find_route(observed)) == {active.name}:
        active = active.seen(ALL, look.now)
    cluster = observed.find_active()
    if isinstance(cluster, dict):
        is_own = inputs.is_back and inputs.active is Fit.SAME
        serve = plan_serve(look, cluster, Order(ALL, keeps_config=not is_own))
        draft.add("active-serve", serve.part)
        active = active.showing(serve)
    if inputs.is_back and active.traffic in (None, ALL):
        return _show(look, active, *_name_third(look, inputs))
    return _show(look, active, Slot(name=observed.pending_name, capacity=0), rollback=_why_back(inputs))


def _read_pair(look: Look, limits: StepLimits, *, is_back: bool) -> Pair:
    """With the weights that the route was seen to have, if they are a step from those that the status tells.

    A step either way: the spec may have been edited after the route was moved and before the status told so.
    """
    active, pending = read_slot(look.observed, ACTIVE), read_slot(look.observed, PENDING)
    told = Split(active.share(ALL, ALL), pending.share(0, 0), is_back)
    route = find_route(look.observed)
    shown = read_weights(route, (active.name, pending.name)) if isinstance(route, dict) else {}
    weights = shown.get(active.name), shown.get(pending.name, 0)
    onwards, back = (next_weights(replace(told, is_back=way), limits) for way in (False, True))
    if weights not in (told.weights, onwards, back):
        return Pair(active, pending, told)
    seen = active.seen(weights[0], look.now), pending.seen(shown.get(pending.name), look.now)
    return Pair(*seen, Split(seen[0].share(ALL, ALL), seen[1].share(0, 0), is_back), has_news=seen != (active, pending))


def _find_obstacle(look: Look, pair: Pair) -> Part:
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
        return NOTHING
    wait = wait_beside(Hold.ROUTE, "the HTTPRoute", "its last change was seen by who serves the Gateway")
    return replace(wait, wake_after=left)


def _is_over(look: Look, pending: Slot, split: Split) -> bool:
    return is_moved(split) or is_moved_back(split, is_pending_alive=_is_alive(look, pending))


def _last_step_left(split: Split, now: float) -> float:
    return (split.gaining.moved or 0.0) + LAST_STEP_SECONDS - now


def is_serve_known(look: Look, slot: Slot) -> bool:
    is_asked = slot.cluster is not None and is_head_ready(look.observed, slot.cluster, look.settings)
    return is_asked and not isinstance(look.observed.serve.get(slot.name, Unknown()), Unknown)


def _is_alive(look: Look, slot: Slot) -> bool:
    return slot.cluster is not None and is_head_ready(look.observed, slot.cluster, look.settings)


def _plan_serve(draft: Draft, look: Look, inputs: ClusterInputs, split: Split) -> tuple[ServeSight, ServeSight]:
    """The configuration goes to the cluster that the spec is of; the other one keeps what it runs.

    Differs from KubeRay: rayservice-rollback-config.
    """
    is_own = inputs.is_back and inputs.active is Fit.SAME
    orders = (
        ("active", look.observed.find_active(), split.active.capacity, not is_own),
        ("pending", look.observed.find_pending(), split.pending.capacity, inputs.is_back),
    )
    sights = []
    for role, cluster, capacity, keeps_config in orders:
        order = Order(capacity, keeps_config=keeps_config, is_shared=True)
        serve = plan_serve(look, cluster, order) if isinstance(cluster, dict) else ServeSight.nothing()
        draft.add(f"{role}-serve", serve.part)
        sights.append(serve)
    return sights[0], sights[1]


def _choose_weights(
    draft: Draft, look: Look, pair: Pair, limits: StepLimits, serve: tuple[ServeSight, ServeSight], obstacle: Part
) -> tuple[tuple[str, int], tuple[str, int]]:
    split, wanted = pair.split, next_weights(pair.split, limits)
    weights = split.weights
    if obstacle.waits:
        draft.add("step", obstacle)
    elif 0 in (limits.surge, limits.step):
        draft.add("step", wait_beside(Hold.NEVER_MOVES, "spec.upgradeStrategy.clusterUpgradeOptions", "it is changed"))
    elif wanted != weights and not pair.has_news and pair.pending.traffic is not None:
        due, missing = seconds_until_due(split, limits, look.now), _find_missing(look, pair, limits, serve)
        if due > 0:
            wait = wait_beside(Hold.STEP, _tell(pair, wanted), f"intervalSeconds ({limits.interval} s) have passed")
            draft.add("step", replace(wait, wake_after=due))
        elif missing is not None:
            draft.add("step", missing)
        else:
            weights = wanted
    return (pair.active.name, weights[0]), (pair.pending.name, weights[1])


def _find_missing(look: Look, pair: Pair, limits: StepLimits, serve: tuple[ServeSight, ServeSight]) -> Part | None:
    """What the cluster that requests go to lacks; None: it can take them."""
    observed, (active, pending) = look.observed, serve
    wanted = _tell(pair, next_weights(pair.split, limits))
    if not pair.split.is_back:
        if not pending.is_ready:
            return wait_beside(Hold.STEP, wanted, f"the applications run on {pair.pending.name} with that capacity")
        if not can_answer(observed, pair.pending.name):
            return wait_beside(Hold.NO_ENDPOINT, f"RayCluster {pair.pending.name}", "one of its Pods can answer")
        return None
    is_pending_fit = not pending.is_broken and can_answer(observed, pair.pending.name)
    if not is_pending_fit:
        return None  # it cannot get worse
    if not can_answer(observed, pair.active.name):
        return wait_beside(Hold.NO_ENDPOINT, f"RayCluster {pair.active.name}", "one of its Pods can answer")
    left = (pair.split.gaining.moved or 0.0) + limits.interval + RETURN_SECONDS - look.now
    if active.health in (Health.READY, Health.UNKNOWN) or left <= 0:
        return None
    wait = wait_beside(Hold.STEP, wanted, f"the applications run on {pair.active.name} with that capacity")
    return replace(wait, wake_after=left)


def _tell(pair: Pair, wanted: tuple[int, int]) -> str:
    split = pair.split
    return (
        f"{pair.pending.name} has {split.pending.traffic} % of the requests (capacity {split.pending.capacity} %),"
        f" {pair.active.name} {split.active.traffic} % ({split.active.capacity} %);"
        f" next {wanted[1]} % and {wanted[0]} %"
    )


def _why_back(inputs: ClusterInputs) -> str:
    if not inputs.is_back:
        return ""
    if inputs.is_given_up:
        return TOO_LATE
    return TO_ACTIVE if inputs.active is Fit.SAME else TO_A_THIRD


def _name_third(look: Look, inputs: ClusterInputs) -> tuple[Slot, tuple[str, ...]]:
    """After the way back: another cluster, if the spec is not of the active one."""
    alone = replace(inputs, has_pending=False, pending=None, is_back=False)
    if decide_clusters(alone) is not ClusterChoice.NEW:
        return Slot(name=""), ()
    name = choose_cluster_name(look.observed.service, look.observed.active_name, look.observed.pending_name)
    return Slot(name=name, capacity=0), (name,)


def _show(
    look: Look, active: Slot, pending: Slot, introduces: tuple[str, ...] = (), rollback: str = ""
) -> statuses.Shown:
    return statuses.Shown(
        active=active.shown(),
        pending=pending.shown(),
        endpoints=statuses.known_endpoints(look.observed),
        introduces=introduces,
        rollback=rollback,
    )
