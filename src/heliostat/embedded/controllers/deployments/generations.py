"""The ReplicaSets of a Deployment, told apart: the one that has its template now, and those of earlier templates."""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.embedded.controllers.deployments.templates import is_same_template
from heliostat.embedded.controllers.views.deployments import Deployment
from heliostat.embedded.controllers.views.replicasets import ReplicaSet


class Generations(Struct, frozen=True):
    new: ReplicaSet | None
    old: tuple[ReplicaSet, ...]  # oldest first

    @property
    def all(self) -> tuple[ReplicaSet, ...]:
        return (*self.old, self.new) if self.new is not None else self.old

    @property
    def active(self) -> tuple[ReplicaSet, ...]:
        """Those that have replicas or should have some."""
        return tuple(replica_set for replica_set in self.all if replica_set.spec.replicas > 0)

    @property
    def active_old(self) -> tuple[ReplicaSet, ...]:
        return tuple(replica_set for replica_set in self.old if replica_set.spec.replicas > 0)

    @property
    def wanted_replicas(self) -> int:
        return sum(replica_set.spec.replicas for replica_set in self.all)


def tell_generations(deployment: Deployment, owned: Iterable[ReplicaSet]) -> Generations:
    """Of several ReplicaSets with the template the oldest is the new one: it always has been."""
    ordered = sorted(owned, key=by_age)
    new = next((found for found in ordered if is_same_template(found.spec.template, deployment.spec.template)), None)
    return Generations(new, tuple(found for found in ordered if found is not new))


def by_age(replica_set: ReplicaSet) -> tuple[str, str]:
    """Oldest first, those of the same second by name."""
    return replica_set.metadata.creation_timestamp or "", replica_set.metadata.name
