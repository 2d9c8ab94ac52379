"""The Job controllers on the loop: Jobs and their Pods, Pods whose Job is gone, and Jobs whose time is up."""

from collections.abc import Iterable, Iterator, Sequence

from heliostat.embedded.controllers.child_names import Departures
from heliostat.embedded.controllers.jobs.backoff import NOTHING_FINISHED, FinishLog, note_finishes
from heliostat.embedded.controllers.jobs.claims import build_claim_stages, claim_pods
from heliostat.embedded.controllers.jobs.orphans import DepartedJobs, plan_orphan
from heliostat.embedded.controllers.jobs.plan import Memory, plan_job
from heliostat.embedded.controllers.jobs.pod_facts import is_tracked
from heliostat.embedded.controllers.jobs.ttl import plan_ttl
from heliostat.embedded.controllers.views.jobs import JOB, JOBS, Job
from heliostat.embedded.controllers.views.pods import POD, PODS, Pod
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Wait
from heliostat.kube.selectors import SelectorError, selector_of
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, its_controller, itself, subject_of


class JobReconciler:
    name = "job-controller"

    def __init__(self, caches: Caches) -> None:
        self._jobs = caches.of(JOBS)
        self._pods = caches.of(PODS)
        self._departures = Departures(caches.of(PODS))
        self._unowned = self._pods.add_index(_namespace_of_unowned)
        self._finishes: dict[Key, tuple[str, FinishLog]] = {}  # with the UID of the Job

    def sources(self) -> Sequence[Source]:
        return (
            Source(self._jobs, itself),
            Source(self._pods, its_controller(JOB.api_version, JOB.kind)),
            Source(self._pods, self._possible_owners),
        )

    def subject(self, key: Key) -> Subject | None:
        job = self._jobs.get(key)
        if job is None:
            self._forget(key)
            return None
        return subject_of(job, JOB.api_version, JOB.kind)

    def plan(self, key: Key, now: float) -> Plan:
        job = self._jobs.get(key)
        if job is None or job.is_managed_elsewhere:
            return Plan()
        try:
            selector = selector_of(job.spec.selector)
        except SelectorError as error:
            return Plan(waits=(Wait("InvalidSelector", f"couldn't convert Job selector: {error}", "it is corrected"),))
        owned = self._pods.owned_by(job.metadata.uid)
        claim = claim_pods(job, selector, [*owned, *self._unowned.at(job.metadata.namespace)])
        if claim.changes and job.end is None:
            return Plan(build_claim_stages(job, claim.changes))
        return plan_job(job, claim.mine, now, self._memory(key, job, claim.mine, now))

    def _memory(self, key: Key, job: Job, pods: Iterable[Pod], now: float) -> Memory:
        uid, finishes = self._finishes.get(key, ("", NOTHING_FINISHED))
        if uid == job.metadata.uid:
            finishes = note_finishes(finishes, job, pods, now)
        else:  # what has failed by the first look is no news
            finishes = note_finishes(NOTHING_FINISHED, job, pods)
        self._finishes[key] = (job.metadata.uid, finishes)
        namespace = job.metadata.namespace
        return Memory(
            finishes=finishes,
            departed=self._departures.of(job.metadata.uid),
            is_taken=lambda name: self._pods.get(Key(namespace, name)) is not None,
            is_current=self._pods.revision >= job.metadata.revision,
        )

    def _forget(self, key: Key) -> None:
        uid, _finishes = self._finishes.pop(key, ("", NOTHING_FINISHED))
        self._departures.forget(uid)

    def _possible_owners(self, before: Pod | None, after: Pod | None) -> Iterator[Key]:
        """Of a Pod without a controller: the Jobs that select it and may want to adopt it."""
        if after is None or after.metadata.controller is not None or not _may_be_new_to_jobs(before, after):
            return
        for job in self._jobs.in_namespace(after.metadata.namespace):
            if _selects(job, after):
                yield job.metadata.key


def _namespace_of_unowned(pod: Pod) -> tuple[str, ...]:
    return (pod.metadata.namespace,) if pod.metadata.controller is None else ()


def _may_be_new_to_jobs(before: Pod | None, after: Pod) -> bool:
    return (
        before is None
        or before.metadata.controller is not None
        or before.metadata.labels != after.metadata.labels
        or before.metadata.is_terminating != after.metadata.is_terminating
    )


def _selects(job: Job, pod: Pod) -> bool:
    try:
        return selector_of(job.spec.selector).matches(pod.metadata.labels)
    except SelectorError:
        return False


class OrphanedPodReconciler:
    name = "job-orphaned-pods"

    def __init__(self, caches: Caches) -> None:
        self._jobs = caches.of(JOBS)
        self._pods = caches.of(PODS)
        self._departed = DepartedJobs(caches)

    def sources(self) -> Sequence[Source]:
        return (Source(self._pods, _itself_if_tracked), Source(self._jobs, self._pods_left_behind))

    def subject(self, key: Key) -> Subject | None:
        pod = self._pods.get(key)
        return subject_of(pod, POD.api_version, POD.kind) if pod is not None and is_tracked(pod) else None

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  nothing here depends on the time
        pod = self._pods.get(key)
        if pod is None:
            return Plan()
        return plan_orphan(pod, self._departed.owner_of(pod), is_gone=self._departed.are_certain_for(pod))

    def _pods_left_behind(self, before: Job | None, after: Job | None) -> Iterable[Key]:
        if before is None or (after is not None and after.metadata.uid == before.metadata.uid):
            return ()
        return [pod.metadata.key for pod in self._pods.owned_by(before.metadata.uid) if is_tracked(pod)]


def _itself_if_tracked(before: Pod | None, after: Pod | None) -> Iterable[Key]:  # noqa: ARG001
    return (after.metadata.key,) if after is not None and is_tracked(after) else ()


class FinishedJobReconciler:
    name = "ttl-after-finished-controller"

    def __init__(self, caches: Caches) -> None:
        self._jobs = caches.of(JOBS)

    def sources(self) -> Sequence[Source]:
        return (Source(self._jobs, itself),)

    def subject(self, key: Key) -> Subject | None:
        job = self._jobs.get(key)
        return subject_of(job, JOB.api_version, JOB.kind) if job is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        job = self._jobs.get(key)
        return plan_ttl(job, now) if job is not None else Plan()
