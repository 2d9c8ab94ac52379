"""The wiring of Deployments: which changes wake one, and what it is decided from."""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.deployments.decision import DeploymentView, plan_deployment
from heliostat.embedded.controllers.failures import LastFailures
from heliostat.embedded.controllers.orphans import add_orphan_index, either, owners_selecting
from heliostat.embedded.controllers.selection import read_selector
from heliostat.embedded.controllers.views.deployments import DEPLOYMENT, DEPLOYMENTS
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.embedded.controllers.views.replicasets import REPLICA_SET, REPLICA_SETS, ReplicaSet
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.runtime.caches import Caches
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.reconciler import Source, Subject, its_controller, itself, subject_of


class DeploymentReconciler:
    name = "deployment-controller"

    def __init__(self, caches: Caches) -> None:
        self._deployments = caches.of(DEPLOYMENTS)
        self._sets = caches.of(REPLICA_SETS)
        self._pods = caches.of(PODS)
        self._orphans = add_orphan_index(self._sets)
        self._failures = LastFailures()
        self._deployments.subscribe(self._failures.forget)

    def sources(self) -> Sequence[Source]:
        owners = its_controller(DEPLOYMENT.api_version, DEPLOYMENT.kind)
        adopters = owners_selecting(self._deployments, lambda owner: read_selector(owner.spec.selector))
        return (
            Source(self._deployments, itself),
            Source(self._sets, either(owners, adopters)),
            Source(self._pods, self._waiting_for),
        )

    def subject(self, key: Key) -> Subject | None:
        found = self._deployments.get(key)
        return subject_of(found, DEPLOYMENT.api_version, DEPLOYMENT.kind) if found is not None else None

    def after(self, key: Key, outcome: Outcome) -> None:
        """How the last plan ended, for the Progressing condition."""
        self._failures.note(key, outcome)

    def plan(self, key: Key, now: float) -> Plan:
        deployment = self._deployments.get(key)
        if deployment is None:
            return Plan()
        uid = deployment.metadata.uid
        owned = [found for found in self._sets.owned_by(uid) if _is_controlled(found, uid)]
        view = DeploymentView(
            deployment=deployment,
            sets=(*owned, *self._orphans.at(key.namespace)),
            find_set=lambda name: self._sets.get(Key(key.namespace, name)),
            pods_of=self._pods_of,
            failure=self._failures.of(key),
        )
        return plan_deployment(view, now)

    def _pods_of(self, uid: str) -> Iterable[Pod]:
        return (pod for pod in self._pods.owned_by(uid) if _is_controlled(pod, uid))

    def _waiting_for(self, before: Pod | None, after: Pod | None) -> Iterable[Key]:
        """The Deployment that recreates its Pods and waits until this one is gone."""
        if before is None or (after is not None and not after.is_over):
            return ()
        owner = before.metadata.controller
        if owner is None or owner.kind != REPLICA_SET.kind or owner.api_version != REPLICA_SET.api_version:
            return ()
        replica_set = self._sets.get(Key(before.metadata.namespace, owner.name))
        keys = its_controller(DEPLOYMENT.api_version, DEPLOYMENT.kind)(None, replica_set)
        return [key for key in keys if self._recreates(key)]

    def _recreates(self, key: Key) -> bool:
        deployment = self._deployments.get(key)
        return deployment is not None and deployment.spec.strategy.type == "Recreate"


def _is_controlled(item: Pod | ReplicaSet, uid: str) -> bool:
    controller = item.metadata.controller
    return controller is not None and controller.uid == uid
