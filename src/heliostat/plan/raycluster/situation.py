"""What one plan of a RayCluster is made from, and what the operator remembers of it beyond what objects show."""

from typing import TypeAlias

from msgspec import Struct

from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.plan import situation
from heliostat.plan.own_conditions import Hindrance
from heliostat.plan.raycluster.observed import ObservedCluster


class LastFailure(Struct, frozen=True):
    """What went wrong when the last plan was carried out; the tag is a ReplicaFailure reason, or empty."""

    tag: str
    message: str


class Remembered(Struct, frozen=True, kw_only=True):
    """What the operator knows beyond Kubernetes objects. Forgetting all of it may delay a decision, never change it.

    Only the names of new Pods come from it, too.
    """

    failure: LastFailure | None = None
    hindrances: tuple[Hindrance, ...] = ()  # refusals that no tag tells
    unanswered: frozenset[str] = frozenset()  # names of Pods whose create was sent and never answered
    moves: int = 0  # plans that made or deleted Pods since the RayCluster has its present version
    since: int = 0  # how new the view of Pods was when this process first met the RayCluster
    groups_seen: frozenset[str] = frozenset()  # worker groups that earlier generations of this spec had
    held_until: float | None = None  # a status that is due is held back until then


Situation: TypeAlias = situation.Situation[ObservedCluster, DesiredCluster, Remembered]
