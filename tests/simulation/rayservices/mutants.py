"""Planted bugs of a RayService operator: each is one that an operator has had, or that one rule of ours prevents.

The random search must find every one of them by itself, by the law that it breaks.
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from heliostat.desired.rayservice.cluster import SERVICE_HASH, build_cluster_of_service
from heliostat.desired.rayservice.serve_config import read_serve_config
from heliostat.kube.facts import Unknown
from heliostat.operator.rayservice import calls
from heliostat.plan.draft import NOTHING
from heliostat.plan.rayservice import (
    clusters,
    comparing,
    deletion,
    head_label,
    holds,
    pair,
    routing,
    service,
    serving,
    suspend,
    unused,
    whole,
)
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.answers import ServeInfo
from heliostat.plan.rayservice.clusters import ClusterChoice, ClusterInputs
from heliostat.plan.rayservice.comparing import Fit
from heliostat.plan.rayservice.observed import Look, ObservedService
from heliostat.plan.rayservice.serving import Health, ServeSight
from heliostat.runtime.errors import ApiError
from simulation.mutants import Mutant, replaced


def whatever_answers_is_ready() -> Any:
    """KubeRay #1559: requests were switched while Serve had not started; no application counted as healthy."""
    return replaced((ServeSight, "is_ready", property(lambda self: self.health is not Health.STARTING)))


def running_is_enough() -> Any:
    """Applications that run count as ready, whatever configuration they run."""
    return replaced((serving, "is_current", lambda told, _config: bool(told.applications)))


def nobody_has_to_answer() -> Any:
    """KubeRay PR 3166: the weight came before the endpoint, and 5 of 200 requests were lost."""
    return replaced((routing, "can_answer", lambda *_arguments: True))


def a_name_that_nobody_wrote_down() -> Any:
    """KubeRay #2374, PR 4273: an orphan, or a second cluster for one owner."""

    def drawn(service_: Any, tree: Any, name: str, *rest: Any, **named: Any) -> Any:
        return build_cluster_of_service(service_, tree, f"{name}x", *rest, **named)

    return replaced((clusters, "build_cluster_of_service", drawn))


def promoted_before_it_serves() -> Any:
    """KubeRay PR 730: the status calls a cluster active when it is there."""
    look = clusters.look_at_clusters

    def hasty(*arguments: Any) -> Any:
        inputs = look(*arguments)
        if isinstance(inputs, Unknown):
            return inputs
        return replace(inputs, is_pending_routed=inputs.is_pending_routed or inputs.pending is Fit.SAME)

    return replaced((service, "look_at_clusters", hasty))


def a_third_spec_is_ignored() -> Any:
    """KubeRay PR 4601: while one upgrade goes on, no other spec counts."""
    decide = clusters.decide_clusters

    def stubborn(inputs: ClusterInputs) -> ClusterChoice:
        return ClusterChoice.STAY if inputs.has_pending else decide(inputs)

    return replaced((service, "decide_clusters", stubborn))


def memory_decides_what_is_sent() -> Any:
    """KubeRay PR 1420, PR 2591: a restart forgets what was sent, and sends it again."""
    return replaced((serving, "is_current", lambda _told, _config: False))


def no_answer_means_no_application() -> Any:
    """A dashboard that cannot be asked counts as one that runs nothing."""
    ask_serve = calls.ServeCalls.ask_serve

    def ask(self: Any, *arguments: Any) -> Any:
        fetch = ask_serve(self, *arguments)

        async def guess() -> ServeInfo:
            try:
                return await fetch()
            except ApiError:
                return ServeInfo()

        return guess

    return replaced((calls.ServeCalls, "ask_serve", ask))


def what_was_sent_is_not_sent_again() -> Any:
    """KubeRay #4717: a head comes back without its applications, and the operator remembers to have sent them."""
    return replaced((serving, "_hold_back", lambda sent, *_rest: None if sent is None else 1e9))


def the_head_service_comes_first() -> Any:
    """KubeRay PR 2343: an error at the head Service ended the pass, and the serve Service was never switched."""
    plan = routing.plan_services

    def in_a_row(draft: Any, observed: ObservedService, *rest: Any) -> None:
        found = observed.find_head_service()
        if not isinstance(found, dict) or observed.owns(found):
            plan(draft, observed, *rest)

    return replaced((whole, "plan_services", in_a_row))


def the_former_cluster_goes_at_once() -> Any:
    """Requests that it still answers are cut off."""
    return replaced((unused, "moment_of", lambda _text: 0.0))


def the_former_cluster_stays() -> Any:
    """KubeRay #2374: left behind for ever, with its GPUs."""
    return replaced((service, "plan_unused", lambda *_arguments: NOTHING))


def an_old_status_decides_what_is_unused() -> Any:
    """A view in which the next cluster is not named yet, or the serving one no longer."""
    plan = unused.plan_unused

    def forgetful(look: Look) -> Any:
        observed = look.observed
        slot = {**(observed.status.get("pendingServiceStatus") or {}), "rayClusterName": ""}
        status = {**observed.status, "pendingServiceStatus": slot}
        return plan(replace(look, observed=replace(observed, tree={**observed.tree, "status": status})))

    return replaced((service, "plan_unused", forgetful))


def a_new_version_rolls_everything() -> Any:
    """KubeRay #2315, PR 2320: the hash is another one with every version of the operator."""

    def build(service_: Any, tree: Any, name: str, settings: Any, **named: Any) -> Any:
        cluster = build_cluster_of_service(service_, tree, name, settings, **named)
        cluster["metadata"]["annotations"][SERVICE_HASH] += settings.operator_version
        return cluster

    def compare(cluster: Any, wanted: Any, settings: Any) -> Fit:
        stamped = cluster["metadata"]["annotations"][SERVICE_HASH]
        return Fit.SAME if stamped == comparing.hash_of(wanted) + settings.operator_version else Fit.OTHER

    return replaced(
        (clusters, "build_cluster_of_service", build),
        (clusters, "compare_spec", compare),
        (clusters, "has_own_stamp", lambda *_arguments: True),
    )


def suspended_is_said_too_early() -> Any:
    return replaced((suspend, "are_clusters_gone", lambda *_arguments: True))


def a_deleted_service_stays() -> Any:
    """KubeRay: a finalizer that nobody takes off."""
    return replaced((deletion, "are_clusters_gone", lambda _observed: False))


def our_own_silence_counts_against_the_head() -> Any:
    """One question that gets lost takes the only endpoint away. Found by the search in our own code."""
    return replaced((calls, "MOST_SILENCES", 0))


def the_head_never_takes_requests() -> Any:
    """KubeRay #4685: a head that answers is not told apart from one that does not."""
    return replaced((head_label, "TRUE", "false"))


def groups_are_replaced() -> Any:
    """A worker group that is added rolls the whole service."""
    return replaced((clusters, "compare_spec", _compare_whole))


def _compare_whole(*arguments: Any) -> Fit:
    fit = comparing.compare_spec(*arguments)
    return Fit.OTHER if fit is Fit.GROWN else fit


def a_bad_configuration_is_sent() -> Any:
    """What cannot be read asks for nothing, and so everything is deleted."""
    read = read_serve_config

    def lenient(service_: Any) -> Any:
        config = read(service_)
        return config if isinstance(config, dict) else {}

    return replaced((serving, "read_serve_config", lenient))


def it_is_given_up_and_goes_on() -> Any:
    """KubeRay PR 4739: what has timed out is made again and again."""
    return replaced((statuses, "TIMED_OUT", "GivenUp"))


def all_requests_move_at_once() -> Any:
    """KubeRay PR 3166: a step is as large as it likes."""
    return replaced((pair, "next_weights", lambda split, _pace: (100, 0) if split.is_back else (0, 100)))


def requests_move_without_a_pause() -> Any:
    return replaced((holds, "seconds_until_due", lambda *_arguments: 0.0))


def _mutant(plant: Callable[[], Any], *found_by: str, since: int = 0) -> Mutant:
    return Mutant(f"service-{plant.__name__.replace('_', '-')}", "rayservices", plant, found_by, since)


RAY_SERVICE_MUTANTS = (
    _mutant(whatever_answers_is_ready, "V1"),
    _mutant(running_is_enough, "V5"),
    _mutant(nobody_has_to_answer, "V1", since=5),
    _mutant(a_name_that_nobody_wrote_down, "V2"),
    _mutant(promoted_before_it_serves, "V4"),
    _mutant(a_third_spec_is_ignored, "V1", "V5", since=17),
    _mutant(memory_decides_what_is_sent, "V6"),
    _mutant(no_answer_means_no_application, "V6"),
    _mutant(what_was_sent_is_not_sent_again, "L1", since=10),
    _mutant(the_former_cluster_goes_at_once, "V7", since=1),
    _mutant(the_former_cluster_stays, "V2", since=1),
    _mutant(an_old_status_decides_what_is_unused, "V7", since=1),
    _mutant(a_new_version_rolls_everything, "U1"),
    _mutant(suspended_is_said_too_early, "C9", since=6),
    _mutant(a_deleted_service_stays, "C7", since=8),
    _mutant(our_own_silence_counts_against_the_head, "V7"),
    _mutant(the_head_never_takes_requests, "L1"),
    _mutant(groups_are_replaced, "V5", since=4),
    _mutant(a_bad_configuration_is_sent, "V1", since=13),
    _mutant(all_requests_move_at_once, "V3", since=36),
    _mutant(requests_move_without_a_pause, "V3", since=36),
    _mutant(it_is_given_up_and_goes_on, "L1", since=12),
)
