"""The reconciler of RayJobs: puts the view together from caches (informers) and from what Ray says. Decides nothing.

A job is requeued when it or anything it controls changes, when the cluster that it chose does, when Ray tells something
new of it, and when a deadline of it is over.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.kinds import RAY_CLUSTER_NAME
from heliostat.api.settings import Settings
from heliostat.kube import lookups
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.operator.building import Building
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.kinds import RAY_CLUSTERS, RAY_JOBS, WholeObject, kinds_around
from heliostat.operator.labelled import label_ray_pods
from heliostat.operator.ray_access import Place
from heliostat.operator.ray_facts import RayFacts
from heliostat.operator.rayjob.calls import JobCalls
from heliostat.operator.rayjob.memory import Memory
from heliostat.operator.rayjob.metrics import JobMetrics
from heliostat.operator.rayjob.pods_around import PodsAround
from heliostat.operator.scope import cache_dispensable, cache_needed
from heliostat.operator.understanding import tree_of
from heliostat.plan.kind import Meaning
from heliostat.plan.rayjob.kind import RAY_JOB
from heliostat.plan.rayjob.observed import ObservedJob, Remembered
from heliostat.plan.rayjob.phases import Phase
from heliostat.plan.rayjob.ray_instance import name_who_is_asked
from heliostat.plan.rayjob.submission import fact_key, find_token_secret
from heliostat.plan.situation import Situation
from heliostat.runtime.caches import Caches
from heliostat.runtime.client import Client
from heliostat.runtime.reconciler import Source

NAME = "rayjob-controller"  # what KubeRay's events name as their reporter
FACT = "ray-job"
_AROUND = (lookups.SERVICE, lookups.JOB, lookups.VOLCANO_GROUP)


class Asking(Struct, frozen=True):
    """What asks Ray, what keeps its answers, and who asks the API server where caches are not enough."""

    facts: RayFacts
    calls: JobCalls
    client: Client


class RayJobReconciler(KindReconciler[ObservedJob, None, Remembered, Memory]):
    name = NAME

    def __init__(self, caches: Caches, settings: Settings, asking: Asking, namespaces: Sequence[str] = ()) -> None:
        self._asking = asking
        clusters, self._pods = cache_needed(caches, RAY_CLUSTERS, namespaces), label_ray_pods(caches, namespaces)
        kinds = kinds_around(settings)
        around = {kind: cache_dispensable(caches, kinds[kind], namespaces) for kind in _AROUND if kind in kinds}
        items = cache_needed(caches, RAY_JOBS, namespaces)
        super().__init__(RAY_JOB, settings, items, {RAY_CLUSTER_NAME: clusters, **around}, Memory())
        jobs = around[lookups.JOB]
        self._pods_around = PodsAround(self._pods, clusters, jobs, self.interests, asking.facts, asking.client)
        self._pods_around.listen(self.again.send)
        asking.facts.listen(FACT, self.again.send)

    def more_sources(self) -> Iterable[Source]:
        return self._pods.sources(self.interests)

    def forget(self, key: Key) -> None:
        self._asking.facts.forget(FACT, key)
        self._asking.calls.forget(key)
        self._pods_around.forget(key)

    def observe(self, key: Key, item: WholeObject, meaning: Meaning[None]) -> ObservedJob:
        tree = tree_of(RAY_JOB, item)
        observed = ObservedJob(
            job=meaning.object,
            tree=tree,
            objects=self.objects_around(key, item.metadata.uid),
            pods=self._pods_around.of_cluster(key, meaning.object, tree["status"]),
            submitter_left=self._pods_around.left_by_submitter(key, meaning.object, tree["status"]),
        )
        return self._ask(key, observed)

    def remember(self, key: Key, _item: WholeObject, observed: ObservedJob, _meaning: Meaning[None]) -> Remembered:
        fact, asking = fact_key(observed), self._asking
        return Remembered(
            is_asked=asking.facts.is_asked(fact),
            is_accepted=asking.calls.is_accepted(key, observed.cluster_name, observed.job_id),
            answered_alike=asking.facts.held(fact),
            submit_failure=self.memory.refusal(key),
        )

    def begin(
        self, key: Key, _item: WholeObject, _situation: Situation[ObservedJob, None, Remembered], plan: Plan
    ) -> Plan:
        self.memory.begun(key, plan)
        return plan

    def _ask(self, key: Key, observed: ObservedJob) -> ObservedJob:
        """With what Ray says of the job, while it is asked: as long as the job runs."""
        status, facts = observed.status, self._asking.facts
        address = str(status.get("dashboardURL") or "")
        is_leaving = bool(observed.job.metadata.deletion_timestamp)
        if status.get("jobDeploymentStatus") != Phase.RUNNING or not address or not observed.job_id or is_leaving:
            facts.forget(FACT, key)
            return observed
        fact, place = fact_key(observed), Place(key.namespace, address, find_token_secret(observed))
        cluster = observed.find_cluster()
        head = name_who_is_asked(cluster if isinstance(cluster, dict) else None)
        source = f"{key.namespace}/{address}/{head}"  # what a head has told says nothing of the next one
        facts.watch(fact, key, self._asking.calls.question(place, observed.job_id), source)
        return replace(observed, answer=facts.get(fact))


def add_controller(building: Building) -> None:
    options = building.options
    if not options.has_jobs:
        return
    calls = JobCalls(building.access)
    calls.register(building.host.effects)
    asking = Asking(building.facts, calls, building.client)
    jobs = RayJobReconciler(building.host.caches, options.settings, asking, options.namespaces)
    building.host.add(jobs, after=jobs.after)
    if options.has_kuberay_metrics:
        JobMetrics(building.registry, jobs.items, building.clocks.now)
