"""Planted bugs of a RayCluster operator: each is one that an operator of Ray has had, or nearly had.

The random search must find every one of them by itself, by a law that the bug breaks; ``since`` is a seed near which it
was found.
"""

from collections.abc import Callable
from typing import Any

from simulation import mutants as loop
from simulation.mutants import Mutant
from simulation.rayclusters import planted_clusters as clusters
from simulation.rayclusters import planted_pods as pods
from simulation.rayclusters import planted_views as views


def _mutant(plant: Callable[[], Any], *found_by: str, since: int = 0) -> Mutant:
    return Mutant(f"ray-{plant.__name__.replace('_', '-')}", "rayclusters", plant, found_by, since)


RAY_MUTANTS = (
    _mutant(loop.skip_freshness, "C12"),
    _mutant(loop.forget_creates, "C12"),
    _mutant(loop.forget_deletes, "C12"),
    _mutant(loop.a_failed_list_is_empty, "C1", "C2", "C13", "L1", since=55),
    _mutant(loop.relist_without_departures, "L1", since=202),
    _mutant(loop.begin_a_watch_at_the_newest, "C1", "C2", "C13", "L1", since=9),
    _mutant(loop.work_on_a_key_twice, "C1", "C2", "C12"),
    _mutant(pods.a_delete_names_no_uid, "C5"),
    _mutant(clusters.a_status_is_written_blindly, "C5"),
    _mutant(pods.ready_workers_go_first, "C3"),
    _mutant(clusters.labels_are_ownership, "C3", "C6"),
    _mutant(pods.a_suspended_group_is_filled, "C2", since=38),
    _mutant(clusters.suspension_is_not_announced, "C3", "C9"),
    _mutant(clusters.suspension_is_taken_back, "C9", since=77),
    _mutant(clusters.no_finalizer, "C7", since=6),
    _mutant(clusters.finalizers_of_others_go, "C5", since=6),
    _mutant(clusters.an_absent_field_breaks_it, "X1"),
    _mutant(pods.failed_pods_are_not_asked_away, "C8", "L1", since=96),
    _mutant(pods.scaling_recreates, "C3", since=21),
    _mutant(views.the_first_error_ends_the_look, "L2", since=17),
    _mutant(views.no_fence, "C1", "C2", "C3", "C6", "C12", since=31),
    _mutant(loop.believe_a_first_list, "C1", "C2", "C12", "L1", since=14),
    _mutant(views.a_lease_never_expires, "L1"),
    _mutant(views.an_unreadable_pod_is_gone, "X1"),
    _mutant(views.expectations_outlive_their_cluster, "L1", since=9),
    _mutant(views.silence_is_not_noticed, "L1", since=25),
    _mutant(clusters.transition_times_stay, "C13"),
    _mutant(clusters.available_workers_are_not_counted, "C13"),
    _mutant(clusters.the_generation_stays_the_first, "C13"),
    _mutant(clusters.the_wish_is_told_wrongly, "C13"),
    _mutant(clusters.suspended_is_said_too_early, "C9", since=74),
    _mutant(clusters.the_finalizer_goes_before_the_job_ended, "C7", since=24),
    _mutant(clusters.recreation_begins_with_the_head, "C4", "L1", since=21),
    _mutant(clusters.a_new_version_recreates, "C3", "U1"),
    _mutant(pods.a_leaving_head_counts_as_gone, "C1", since=6),
    _mutant(pods.leaving_workers_count_as_gone, "C2", since=10),
    _mutant(pods.leaving_workers_count_as_staying, "C3", since=122),
    _mutant(pods.a_stuck_pod_is_waited_for, "L1", "L3", since=10),
    _mutant(pods.half_a_replica_is_enough, "C3", "C10", "L1", since=20),
    _mutant(pods.the_operator_chooses_for_the_autoscaler, "C3", since=72),
    _mutant(pods.names_are_used_again, "C10", "L1", since=10),
    _mutant(clusters.who_manages_it_does_not_matter, "C11"),
    _mutant(clusters.a_failure_is_never_forgotten, "C13"),
    _mutant(pods.removed_groups_stay, "C7", since=7),
)
