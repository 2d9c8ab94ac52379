"""Sundials on the loop."""

from garden.plan.sundial import SUNDIAL, ObservedSundial
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.lookups import SERVICE
from heliostat.kube.objects import Key
from heliostat.operator.building import Building
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.kinds import RESOURCES, WholeObject
from heliostat.operator.scope import cache_dispensable, cache_needed
from heliostat.operator.understanding import tree_of
from heliostat.plan.kind import Meaning
from heliostat.runtime.cache import CachedKind
from heliostat.runtime.outcome import Outcome


class NoMemory:
    def ended(self, _key: Key, _outcome: Outcome) -> bool:
        return False

    def forget(self, _key: Key) -> None:
        return


class SundialReconciler(KindReconciler[ObservedSundial, JsonObject, None, NoMemory]):
    name = "sundial-controller"

    def observe(self, key: Key, item: WholeObject, _meaning: Meaning[JsonObject]) -> ObservedSundial:
        return ObservedSundial(tree_of(SUNDIAL, item), self.objects_around(key, item.metadata.uid))


def add_controller(building: Building) -> None:
    caches, options = building.host.caches, building.options
    items = cache_needed(caches, CachedKind(SUNDIAL.resource, WholeObject), options.namespaces)
    services = cache_dispensable(caches, CachedKind(RESOURCES[SERVICE], WholeObject), options.namespaces)
    building.host.add(SundialReconciler(SUNDIAL, options.settings, items, {SERVICE: services}, NoMemory()))
