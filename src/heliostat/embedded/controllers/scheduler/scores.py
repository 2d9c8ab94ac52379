"""Which of the nodes that can take a Pod is best: kube-scheduler's default scores and weights.

Free capacity (least allocated) and balance between CPU and memory count once, preferred node affinity twice, taints
that ask to stay away three times. Not weighed: image locality, preferred neighbours and preferred spreading.
Where scores are equal, the real scheduler draws; here fewer Pods come first, then the name.
"""

from collections.abc import Sequence
from typing import TypeAlias

from heliostat.embedded.controllers.scheduler.accounts import NodeAccount
from heliostat.embedded.controllers.scheduler.demand import Demand
from heliostat.embedded.controllers.scheduler.requests import CPU, MEMORY, Amounts
from heliostat.embedded.controllers.taints import count_unwelcome

HIGHEST = 100
_AFFINITY_WEIGHT = 2
_TAINT_WEIGHT = 3

Rank: TypeAlias = tuple[int, int, str]  # the lowest is the best


def rank(score: int, account: NodeAccount, name: str) -> Rank:
    return -score, len(account.loads), name


def score_capacity(demand: Demand, account: NodeAccount) -> int:
    """The part of the score that the node alone decides."""
    load = demand.load
    cpu, memory = account.allocatable.get(CPU, 0), account.allocatable.get(MEMORY, 0)
    free = _free_share(cpu, account.scored_cpu + load.scored_cpu)
    free += _free_share(memory, account.scored_memory + load.scored_memory)
    kinds = (cpu > 0) + (memory > 0)
    return (free // kinds if kinds else 0) + _score_balance(load.requests, account.used, cpu, memory)


def _free_share(offered: int, wanted: int) -> int:
    return (offered - wanted) * HIGHEST // offered if offered > wanted else 0


def _score_balance(asked: Amounts, used: Amounts, cpu: int, memory: int) -> int:
    """The closer the shares of CPU and memory in use, the better; Pods that ask for neither do not care."""
    asked_cpu, asked_memory = asked.get(CPU, 0), asked.get(MEMORY, 0)
    if not asked_cpu and not asked_memory:
        return 0
    if not cpu or not memory:
        return HIGHEST
    cpu_share = min(1.0, (used.get(CPU, 0) + asked_cpu) / cpu)
    memory_share = min(1.0, (used.get(MEMORY, 0) + asked_memory) / memory)
    return int((1 - abs((cpu_share - memory_share) / 2)) * HIGHEST)


def score_all(demand: Demand, accounts: Sequence[NodeAccount]) -> list[int]:
    """Scores of nodes that can all take the Pod; those of taints and affinity are relative to each other."""
    nodes = [account.node for account in accounts if account.node is not None]
    capacity = [score_capacity(demand, account) for account in accounts]
    affinity = _stretch([demand.places.weigh(node) for node in nodes])
    unwelcome = _stretch([count_unwelcome(node.spec.taints, demand.tolerations) for node in nodes])
    return [
        free + _AFFINITY_WEIGHT * wished + _TAINT_WEIGHT * (HIGHEST - unwished)
        for free, wished, unwished in zip(capacity, affinity, unwelcome, strict=True)
    ]


def _stretch(values: list[int]) -> list[int]:
    """To the range from 0 to 100, the highest value being 100; all zero stays."""
    highest = max(values, default=0)
    return [HIGHEST * value // highest for value in values] if highest > 0 else values
