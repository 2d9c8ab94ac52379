"""The reconciler of RayServices: puts the view together from caches and from what Serve says. Decides nothing.

A service is requeued when it or anything it controls changes, when Pods of its clusters or the endpoints of its serve
Service do, when Serve or a proxy tells something new, and when a deadline is over.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.kinds import RAY_CLUSTER_NAME
from heliostat.api.settings import Settings
from heliostat.kube.facts import Unknown
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.kube.pods import PodView
from heliostat.operator.building import Building
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.kinds import (
    RAY_CLUSTERS,
    RAY_SERVICES,
    SERVE_SLICES,
    EndpointSlice,
    WholeObject,
    kinds_around_services,
)
from heliostat.operator.labelled import Labelled, label_ray_pods, view_ray_pods
from heliostat.operator.ray_facts import Question, RayFacts
from heliostat.operator.rayservice.calls import ServeCalls
from heliostat.operator.rayservice.memory import Memory
from heliostat.operator.rayservice.metrics import ServiceMetrics
from heliostat.operator.scope import cache_dispensable, cache_needed
from heliostat.operator.understanding import tree_of
from heliostat.plan.kind import Meaning
from heliostat.plan.rayservice.answers import APPLICATIONS, PROXY, AskProxy, AskServe, applications_key, proxy_key
from heliostat.plan.rayservice.endpoints import SERVICE_OF_SLICE, count_ready
from heliostat.plan.rayservice.kind import RAY_SERVICE
from heliostat.plan.rayservice.observed import ObservedService, Remembered
from heliostat.plan.rayservice.questions import list_questions
from heliostat.plan.situation import Situation
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source

NAME = "rayservice-controller"  # what KubeRay's events name as their reporter

# Between two questions to one Serve, give or take a tenth: what changes there is seen within two seconds.
SERVE_SECONDS = 1.7


class Asking(Struct, frozen=True):
    """What asks Serve, and what keeps its answers."""

    facts: RayFacts
    calls: ServeCalls


class RayServiceReconciler(KindReconciler[ObservedService, None, Remembered, Memory]):
    name = NAME

    def __init__(self, caches: Caches, settings: Settings, asking: Asking, namespaces: Sequence[str] = ()) -> None:
        self._asking = asking
        self._pods = label_ray_pods(caches, namespaces)
        self._slices = Labelled(cache_dispensable(caches, SERVE_SLICES, namespaces), SERVICE_OF_SLICE)
        kinds = kinds_around_services(settings)
        around = {kind: cache_dispensable(caches, cached, namespaces) for kind, cached in kinds.items()}
        around[RAY_CLUSTER_NAME] = cache_needed(caches, RAY_CLUSTERS, namespaces)
        super().__init__(RAY_SERVICE, settings, cache_needed(caches, RAY_SERVICES, namespaces), around, Memory())
        for kind in (APPLICATIONS, PROXY):
            asking.facts.listen(kind, self.again.send)

    def more_sources(self) -> Iterable[Source]:
        return [*self._pods.sources(self.interests), *self._slices.sources(self.interests)]

    def forget(self, key: Key) -> None:
        for kind in (APPLICATIONS, PROXY):
            self._asking.facts.forget(kind, key)

    def observe(self, key: Key, item: WholeObject, meaning: Meaning[None]) -> ObservedService:
        observed = ObservedService(
            service=meaning.object,
            tree=tree_of(RAY_SERVICE, item),
            objects=self.objects_around(key, item.metadata.uid),
        )
        names = {observed.active_name, observed.pending_name} - {""}
        pods = {name: self._pods_around(key, name) for name in names}
        endpoints = self._count_endpoints(key, observed.list_serve_services(self.settings))
        return self._ask(key, replace(observed, pods=pods, endpoints=endpoints))

    def remember(self, key: Key, _item: WholeObject, _observed: ObservedService, _meaning: Meaning[None]) -> Remembered:
        return self.memory.remembered(key)

    def begin(
        self, key: Key, _item: WholeObject, situation: Situation[ObservedService, None, Remembered], plan: Plan
    ) -> Plan:
        self.memory.begun(key, plan, situation.now)
        return plan

    def _ask(self, key: Key, observed: ObservedService) -> ObservedService:
        """With what Serve and its proxies say, as far as they are asked."""
        facts, calls, uid = self._asking.facts, self._asking.calls, observed.service.metadata.uid
        asked = list_questions(observed, self.settings)
        serve = {applications_key(uid, each.cluster): each for each in asked if isinstance(each, AskServe)}
        proxies = {proxy_key(uid, each.uid): each for each in asked if isinstance(each, AskProxy)}
        space, question = key.namespace, partial(Question, every_seconds=SERVE_SECONDS)
        facts.watch_all(
            APPLICATIONS,
            key,
            (question(fact, calls.ask_serve(space, each), f"{space}/{each.address}") for fact, each in serve.items()),
        )
        facts.watch_all(
            PROXY,
            key,
            (question(fact, calls.ask_proxy(space, each), f"{each.ip}:{each.port}") for fact, each in proxies.items()),
        )
        return replace(
            observed,
            serve={each.cluster: facts.get(fact) for fact, each in serve.items()},
            proxies={each.uid: facts.get(fact) for fact, each in proxies.items()},
        )

    def _pods_around(self, key: Key, name: str) -> tuple[PodView, ...] | Unknown:
        return view_ray_pods(self._pods.asked(self.interests, key, Key(key.namespace, name)))

    def _count_endpoints(self, key: Key, names: Iterable[str]) -> int | Unknown:
        found: list[EndpointSlice] = []
        for name in names:
            slices = self._slices.asked(self.interests, key, Key(key.namespace, name))
            if isinstance(slices, Unknown):
                return slices
            found += slices
        return count_ready(each.endpoints or () for each in found)


def add_controller(building: Building) -> None:
    options = building.options
    if not options.has_services:
        return
    calls = ServeCalls(building.access)
    calls.register(building.host.effects)
    asking = Asking(building.facts, calls)
    services = RayServiceReconciler(building.host.caches, options.settings, asking, options.namespaces)
    building.host.add(services, after=services.after)
    if options.has_kuberay_metrics:
        ServiceMetrics(building.registry, services.items)
