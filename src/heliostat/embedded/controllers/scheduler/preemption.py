"""Which Pods of lower priority make room for a Pod that fits nowhere, and what is said when none can.

On each node whose refusal is not final everybody of lower priority is thought away; if the Pod fits then, they are
let back in by importance as long as it still fits, and the rest are the victims. The node with the least important
victims is taken. Disruption budgets are not looked at.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.controllers.scheduler.accounts import NodeAccount
from heliostat.embedded.controllers.scheduler.decide import Cluster
from heliostat.embedded.controllers.scheduler.demand import Demand, Load
from heliostat.embedded.controllers.scheduler.filters import Refusal, why_not
from heliostat.embedded.controllers.scheduler.verdicts import Unschedulable, tell_unschedulable

_NO_HELP = "Preemption is not helpful for scheduling"
_NO_VICTIMS = Refusal(("No preemption victims found for incoming pod",))
_NEVER = "not eligible due to preemptionPolicy=Never."
_UNDER_WAY = "not eligible due to a terminating pod on the nominated node."
_PRIORITY_SHIFT = 2**31  # makes every priority positive, so that fewer victims weigh less

_Cost: TypeAlias = tuple[int, int, int]


class Preemption(Struct, frozen=True):
    node: str
    victims: tuple[Load, ...]


class NoPreemption(Struct, frozen=True):
    text: str
    keeps_nomination: bool = False


def decide_preemption(demand: Demand, verdict: Unschedulable, cluster: Cluster) -> Preemption | NoPreemption:
    if not verdict.nodes:
        return NoPreemption("")
    if not demand.may_preempt:
        return NoPreemption(_NEVER, keeps_nomination=True)
    if _is_under_way(demand, verdict, cluster):
        return NoPreemption(_UNDER_WAY, keeps_nomination=True)
    found: dict[str, tuple[Load, ...]] = {}
    refused: dict[str, Refusal] = {}
    for name, refusal in verdict.refusals.items():
        if refusal.is_final:
            continue
        victims = _select_victims(demand, cluster.account(name, demand), cluster)
        if isinstance(victims, Refusal):
            refused[name] = victims
        else:
            found[name] = victims
    if not found:
        return NoPreemption(tell_unschedulable(Unschedulable(verdict.nodes, refused, unseen=_NO_HELP)))
    node = _cheapest(found)
    return Preemption(node, found[node])


def _is_under_way(demand: Demand, verdict: Unschedulable, cluster: Cluster) -> bool:
    """Room is being made already: a victim on the nominated node is still on its way out."""
    account = cluster.accounts.registered.get(demand.nominated)
    refusal = verdict.refusals.get(demand.nominated)
    if account is None or verdict.blocked or (refusal is not None and refusal.is_final):
        return False
    return any(load.metadata.is_terminating for load in _weaker(demand, account.loads.values()))


def _weaker(demand: Demand, loads: Iterable[Load]) -> list[Load]:
    return [load for load in loads if load.priority < demand.load.priority]


def _select_victims(demand: Demand, account: NodeAccount, cluster: Cluster) -> tuple[Load, ...] | Refusal:
    weaker = _weaker(demand, account.loads.values())
    if not weaker:
        return _NO_VICTIMS
    trial = account.copy()
    for load in weaker:
        trial.remove(load.key)
    if (refusal := why_not(demand, trial, cluster.survey(demand, trial))) is not None:
        return refusal
    victims = []
    for load in sorted(weaker, key=_importance):
        trial.add(load)
        if why_not(demand, trial, cluster.survey(demand, trial)) is not None:
            trial.remove(load.key)
            victims.append(load)
    return tuple(victims) or _NO_VICTIMS


def _importance(load: Load) -> tuple[int, str, str]:
    """The most important comes first: by priority, then who runs the longest."""
    return -load.priority, load.started or "~", str(load.key)


def _cheapest(found: Mapping[str, Sequence[Load]]) -> str:
    fewest = min(_cost(victims) for victims in found.values())
    equal = {name: victims for name, victims in found.items() if _cost(victims) == fewest}
    youngest = max(_oldest_start(victims) for victims in equal.values())
    return min(name for name, victims in equal.items() if _oldest_start(victims) == youngest)


def _cost(victims: Sequence[Load]) -> _Cost:
    priorities = [load.priority for load in victims]
    return max(priorities), sum(priority + _PRIORITY_SHIFT for priority in priorities), len(victims)


def _oldest_start(victims: Sequence[Load]) -> str:
    highest = max(load.priority for load in victims)
    return min(load.started or "~" for load in victims if load.priority == highest)
