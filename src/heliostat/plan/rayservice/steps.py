"""One pass over two clusters that share the requests: which step is due, what it waits for, and when it is over.

In one pass the route is either read or moved, never both: a weight is moved when the status tells the one before, and
counts when the route was seen to have it. So a pass that is repeated, or lost, moves nothing twice.
"""

from msgspec.structs import replace

from heliostat.desired.rayservice.names import choose_cluster_name
from heliostat.plan.draft import NOTHING, Draft, Part, wait_beside
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.clusters import ClusterChoice, ClusterInputs, decide_clusters
from heliostat.plan.rayservice.comparing import Fit
from heliostat.plan.rayservice.gateway import find_route, find_used, plan_route
from heliostat.plan.rayservice.holds import find_hold, find_obstacle
from heliostat.plan.rayservice.observed import ACTIVE, Look
from heliostat.plan.rayservice.pair import Pair, is_alive, is_serve_known, read_pair
from heliostat.plan.rayservice.reasons import Hold
from heliostat.plan.rayservice.routing import follow_services
from heliostat.plan.rayservice.serving import Order, ServeSight, plan_serve
from heliostat.plan.rayservice.shares import ALL, Split, is_moved, is_moved_back, step_capacity
from heliostat.plan.rayservice.slots import Slot, read_slot

TO_ACTIVE = "Goal state reverted to the original cluster, rolling back to it."
TO_A_THIRD = "Goal state changed mid-upgrade, rolling back to original cluster."
TOO_LATE = "The upgrade took longer than its deadline, rolling back to original cluster."
# So long the status tells that all requests go to the next cluster, before that is the active one, or that all have
# come back: KubeRay's passes are 2 s apart, and who follows an upgrade by looking every second, as its own tests do,
# sees the last step too.
LAST_STEP_SECONDS = 2.0


def plan_steps(draft: Draft, look: Look, inputs: ClusterInputs) -> statuses.Shown:
    if look.observed.find_pending() is None:
        return _plan_absent(draft, look, inputs)
    pair = read_pair(look, is_back=inputs.is_back)
    hold = find_obstacle(look, pair)
    stepped = pair if hold is not None else _step_capacity(look, pair)
    is_over = _is_over(look, stepped)
    if is_over and (last_step := _hold_last_step(pair, look.now)) is not None:
        hold, is_over = last_step, False
    else:
        pair = stepped
    serve = _plan_serve(draft, look, inputs, pair.split)
    follow_services(draft, look.observed, pair.active.name, look.settings)
    active = pair.active.showing(serve[0]).having(pair.split.active.capacity)
    pending = pair.pending.showing(serve[1]).having(pair.split.pending.capacity)
    if is_over:
        return (
            _show(look, active, *_name_third(look, inputs)) if inputs.is_back else _show(look, pending, Slot(name=""))
        )
    _plan_weights(draft, look, pair, hold or find_hold(look, pair, serve))
    return _show(look, active, pending, rollback=_why_back(inputs))


def _step_capacity(look: Look, pair: Pair) -> Pair:
    can_grow = is_serve_known(look, pair.pending)
    return replace(pair, split=step_capacity(pair.split, pair.limits, can_grow=can_grow))


def _hold_last_step(pair: Pair, now: float) -> Part | None:
    left = (pair.split.gaining.moved or 0.0) + LAST_STEP_SECONDS - now
    if left <= 0:
        return None
    until = f"its last step was told for {LAST_STEP_SECONDS:.0f} s"
    return wait_beside(Hold.STEP, "the upgrade", until, wake_after=left)


def _plan_weights(draft: Draft, look: Look, pair: Pair, hold: Part | None) -> None:
    draft.add("step", hold or NOTHING)
    active, pending = pair.next_weights if hold is None else pair.split.weights
    draft.add("route", plan_route(look.observed, ((pair.active.name, active), (pair.pending.name, pending))))


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


def _is_over(look: Look, pair: Pair) -> bool:
    return is_moved(pair.split) or is_moved_back(pair.split, is_pending_alive=is_alive(look, pair.pending))


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
