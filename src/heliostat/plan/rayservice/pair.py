"""Two clusters that share the requests: what each of them has, as far as the status and the route agree about it."""

from msgspec import Struct
from msgspec.structs import replace

from heliostat.kube.facts import Unknown
from heliostat.plan.rayservice.gateway import find_route, read_weights
from heliostat.plan.rayservice.observed import ACTIVE, PENDING, Look
from heliostat.plan.rayservice.serving import is_head_ready
from heliostat.plan.rayservice.shares import ALL, Split, StepLimits, next_weights, read_limits
from heliostat.plan.rayservice.slots import Slot, read_slot


class Pair(Struct, frozen=True):
    """``has_news`` means that the route says what the status does not tell yet."""

    active: Slot
    pending: Slot
    split: Split
    limits: StepLimits
    has_news: bool = False

    @property
    def next_weights(self) -> tuple[int, int]:
        """Those of the active and of the pending cluster after the next move, whenever that is due."""
        return next_weights(self.split, self.limits)


def read_pair(look: Look, *, is_back: bool) -> Pair:
    """With the weights that the route was seen to have, if they are a step from those that the status tells.

    A step either way: the spec may have been edited after the route was moved and before the status told so.
    """
    limits = read_limits(look.observed.service)
    active, pending = read_slot(look.observed, ACTIVE), read_slot(look.observed, PENDING)
    told = Split(active.share(ALL, ALL), pending.share(0, 0), is_back)
    route = find_route(look.observed)
    shown = read_weights(route, (active.name, pending.name)) if isinstance(route, dict) else {}
    weights = shown.get(active.name), shown.get(pending.name, 0)
    onwards, back = (next_weights(replace(told, is_back=way), limits) for way in (False, True))
    if weights not in (told.weights, onwards, back):
        return Pair(active, pending, told, limits)
    seen = active.seen(weights[0], look.now), pending.seen(shown.get(pending.name), look.now)
    split = Split(seen[0].share(ALL, ALL), seen[1].share(0, 0), is_back)
    return Pair(*seen, split, limits, has_news=seen != (active, pending))


def is_alive(look: Look, slot: Slot) -> bool:
    return slot.cluster is not None and is_head_ready(look.observed, slot.cluster, look.settings)


def is_serve_known(look: Look, slot: Slot) -> bool:
    return is_alive(look, slot) and not isinstance(look.observed.serve.get(slot.name, Unknown()), Unknown)
