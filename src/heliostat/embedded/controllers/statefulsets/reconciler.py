"""The wiring of StatefulSets: which changes wake one, and what it is decided from."""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.orphans import add_orphan_index, either, owners_selecting
from heliostat.embedded.controllers.selection import read_selector
from heliostat.embedded.controllers.statefulsets.decision import StatefulSetView, plan_stateful_set
from heliostat.embedded.controllers.views.pods import PODS
from heliostat.embedded.controllers.views.statefulsets import STATEFUL_SET, STATEFUL_SETS
from heliostat.embedded.controllers.views.volume_claims import CLAIMS, Claim
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, its_controller, itself, subject_of


class StatefulSetReconciler:
    name = "statefulset-controller"

    def __init__(self, caches: Caches) -> None:
        self._sets = caches.of(STATEFUL_SETS)
        self._pods = caches.of(PODS)
        self._claims = caches.of(CLAIMS)
        self._orphans = add_orphan_index(self._pods)

    def sources(self) -> Sequence[Source]:
        owners = its_controller(STATEFUL_SET.api_version, STATEFUL_SET.kind)
        adopters = owners_selecting(self._sets, lambda owner: read_selector(owner.spec.selector))
        return (
            Source(self._sets, itself),
            Source(self._pods, either(owners, adopters)),
            Source(self._claims, self._waiting_for),
        )

    def subject(self, key: Key) -> Subject | None:
        found = self._sets.get(key)
        return subject_of(found, STATEFUL_SET.api_version, STATEFUL_SET.kind) if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        owner = self._sets.get(key)
        if owner is None:
            return Plan()
        uid = owner.metadata.uid
        controlled = (
            pod
            for pod in self._pods.owned_by(uid)
            if pod.metadata.controller is not None and pod.metadata.controller.uid == uid
        )
        pods = (*controlled, *self._orphans.at(key.namespace))
        view = StatefulSetView(owner, pods, lambda name: self._claims.get(Key(key.namespace, name)))
        return plan_stateful_set(view, now)

    def _waiting_for(self, before: Claim | None, after: Claim | None) -> Iterable[Key]:
        """A claim that is gone may be made anew."""
        if before is None or after is not None:
            return ()
        return [
            owner.metadata.key
            for owner in self._sets.in_namespace(before.metadata.namespace)
            if any(
                before.metadata.name.startswith(f"{claim['metadata']['name']}-{owner.metadata.name}-")
                for claim in owner.spec.volume_claim_templates
            )
        ]
