"""What would happen next with a RayJob, given objects that are there: its part of ``heliostat plan``."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.names import selected_cluster
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import KindName, ListedObjects
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.plan.rayjob.cleanup import describe_schedule
from heliostat.plan.rayjob.job import plan_job
from heliostat.plan.rayjob.observed import ObservedJob, Remembered, observe_job

_POD = "Pod"


def observe_known(tree: JsonObject, objects: tuple[JsonObject, ...], unread: Mapping[KindName, str]) -> ObservedJob:
    """``unread``: each kind with the reason why nothing is known of it."""
    observed = observe_job(tree, objects)
    hidden = {kind: Unknown(why) for kind, why in unread.items()}
    kinds = observed.objects.kinds if isinstance(observed.objects, ListedObjects) else {}
    return replace(observed, objects=ListedObjects({**kinds, **hidden}), pods=hidden.get(_POD, observed.pods))


def plan_known(observed: ObservedJob, settings: Settings, now: float, refusal: Problem | None) -> Plan:
    """Ray is not asked: what it would say is unknown, and nothing is decided by it."""
    return plan_job(observed, settings, Remembered(), now, refusal=refusal)


def tell_schedule(job: RayJob, settings: Settings) -> Iterator[str]:
    """What goes when, once the job is over."""
    if selected_cluster(job) is not None:
        yield "clean-up: nothing goes, the cluster was chosen by spec.clusterSelector"
        return
    said = describe_schedule(job, settings)
    for words in dict.fromkeys(words for _end, words in said):
        ends = [end for end, own in said if own == words]
        after = "the end" if len(ends) == len(said) else " or ".join(ends)
        yield f"clean-up after {after}: {words}"
