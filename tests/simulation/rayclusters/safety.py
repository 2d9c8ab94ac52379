"""What must hold at every revision, as functions over the whole state. Each names itself by its id of the test plan.

They look at the write that was just carried out: what an operator wrote, and whether that may be in the world as it is.
"""

from collections.abc import Callable

from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Invariant
from simulation.rayclusters import laws_of_clusters as clusters
from simulation.rayclusters import laws_of_pods as pods


def named(law: Callable[[State], str | None]) -> Invariant:
    """The id in front of the name, as a finding tells it."""

    def invariant(state: State) -> str | None:
        return law(state)

    invariant.__name__ = f"{law.__doc__} {law.__name__}"
    return invariant


SAFETY: tuple[Invariant, ...] = tuple(
    named(law)
    for law in (
        pods.one_head,
        pods.never_too_many_workers,
        pods.healthy_heads_stay,
        pods.recreation_is_complete,
        pods.nothing_starts_while_suspended,
        pods.replicas_are_whole,
        pods.pods_come_after_the_pledge,
        clusters.only_its_own,
        clusters.only_the_leader_writes,
        clusters.secrets_are_made_once,
        clusters.specs_belong_to_users,
        clusters.what_others_say_stays,
        clusters.suspended_means_empty,
        clusters.suspension_is_all_or_nothing,
        clusters.managed_elsewhere_is_left_alone,
        clusters.statuses_make_sense,
        clusters.redis_is_emptied_first,
    )
)
