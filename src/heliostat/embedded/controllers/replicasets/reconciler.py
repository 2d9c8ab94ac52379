"""The wiring of ReplicaSets: which changes wake one, and what it is decided from."""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.child_names import Departures
from heliostat.embedded.controllers.failures import LastFailures
from heliostat.embedded.controllers.orphans import add_orphan_index, either, owners_selecting
from heliostat.embedded.controllers.replicasets.decision import ReplicaSetView, plan_replica_set
from heliostat.embedded.controllers.selection import read_selector
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.embedded.controllers.views.replicasets import REPLICA_SET, REPLICA_SETS, ReplicaSet
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.runtime.caches import Caches
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.reconciler import Source, Subject, its_controller, itself, subject_of


class ReplicaSetReconciler:
    name = "replicaset-controller"

    def __init__(self, caches: Caches) -> None:
        self._sets = caches.of(REPLICA_SETS)
        self._pods = caches.of(PODS)
        self._orphans = add_orphan_index(self._pods)
        self._departures = Departures(self._pods)
        self._failures = LastFailures()
        self._sets.subscribe(self._failures.forget)
        self._sets.subscribe(self._forget)

    def sources(self) -> Sequence[Source]:
        owners = its_controller(REPLICA_SET.api_version, REPLICA_SET.kind)
        adopters = owners_selecting(self._sets, lambda owner: read_selector(owner.spec.selector))
        return (Source(self._sets, itself), Source(self._pods, either(owners, adopters)))

    def subject(self, key: Key) -> Subject | None:
        found = self._sets.get(key)
        return subject_of(found, REPLICA_SET.api_version, REPLICA_SET.kind) if found is not None else None

    def after(self, key: Key, outcome: Outcome) -> None:
        """How the last plan ended, for the ReplicaFailure condition."""
        self._failures.note(key, outcome)

    def plan(self, key: Key, now: float) -> Plan:
        owner = self._sets.get(key)
        if owner is None:
            return Plan()
        uid = owner.metadata.uid
        pods = (*self._controlled_by(uid), *self._orphans.at(key.namespace))
        view = ReplicaSetView(
            owner, pods, lambda: self._related(owner), self._failures.of(key), self._departures.of(uid)
        )
        return plan_replica_set(view, now)

    def _controlled_by(self, uid: str) -> Iterable[Pod]:
        for pod in self._pods.owned_by(uid):
            controller = pod.metadata.controller
            if controller is not None and controller.uid == uid:
                yield pod

    def _related(self, owner: ReplicaSet) -> Iterable[Pod]:
        """Nothing for a ReplicaSet that nobody controls."""
        controller = owner.metadata.controller
        if controller is None:
            return
        siblings = [
            read_selector(sibling.spec.selector)
            for sibling in self._sets.owned_by(controller.uid)
            if sibling.metadata.controller is not None and sibling.metadata.controller.uid == controller.uid
        ]
        for pod in self._pods.in_namespace(owner.metadata.namespace):
            if any(selector.matches(pod.metadata.labels) for selector in siblings):
                yield pod

    def _forget(self, before: ReplicaSet | None, after: ReplicaSet | None) -> None:
        if before is not None and after is None:
            self._departures.forget(before.metadata.uid)
