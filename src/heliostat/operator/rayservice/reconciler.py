"""RayServices on the loop: the view is put together from caches and from what Serve says, ``plan_service`` decides.

Nothing is decided here. A service is looked at again when it or anything it controls changes, when Pods of its
clusters or the endpoints of its serve Service do, when Serve or a proxy tells something new, and when a time is over.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.rayservice.names import service_serve_service_name
from heliostat.kube import lookups
from heliostat.kube.facts import Unknown
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Plan, Wait
from heliostat.kube.pods import PodView
from heliostat.operator.kinds import RAY_CLUSTERS, RAY_PODS, RAY_SERVICE, RAY_SERVICES, SERVE_SLICES, WholeObject
from heliostat.operator.kinds import kinds_around as list_kinds_around
from heliostat.operator.ray_facts import Question, RayFacts
from heliostat.operator.raycluster.reconciler import cluster_label, view_ray_pod
from heliostat.operator.rayservice.calls import ServeCalls
from heliostat.operator.rayservice.meaning import tree_of, with_metadata, work_out
from heliostat.operator.rayservice.memory import Memory
from heliostat.operator.scope import Scoped, cache_dispensable, cache_needed
from heliostat.operator.understanding import Understanding
from heliostat.operator.view import CachedObjects, Interests
from heliostat.plan.because import Hold
from heliostat.plan.draft import soonest
from heliostat.plan.raycluster.status_pacing import UNKNOWN_POLL
from heliostat.plan.rayservice.answers import APPLICATIONS, PROXY, AskProxy, AskServe, applications_key, proxy_key
from heliostat.plan.rayservice.endpoints import SERVICE_OF_SLICE, count_ready
from heliostat.plan.rayservice.observed import ObservedService
from heliostat.plan.rayservice.questions import list_questions
from heliostat.plan.rayservice.service import plan_service
from heliostat.runtime.caches import Caches
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.reconciler import Signal, Source, Subject, its_controller, itself, signalled, subject_of

NAME = "rayservice-controller"  # what KubeRay's events name as their reporter
_POD, _SLICE = "Pod", lookups.ENDPOINT_SLICE


class Asking(Struct, frozen=True):
    """What asks Serve, and what keeps its answers."""

    facts: RayFacts
    calls: ServeCalls


class RayServiceReconciler:
    name = NAME

    def __init__(self, caches: Caches, settings: Settings, asking: Asking, namespaces: Sequence[str] = ()) -> None:
        self._settings = settings
        self._asking = asking
        self._services = cache_needed(caches, RAY_SERVICES, namespaces)
        clusters = cache_needed(caches, RAY_CLUSTERS, namespaces)
        self._pods = cache_needed(caches, RAY_PODS, namespaces)
        self._pods_of = {cache.kind.namespace: cache.add_index(cluster_label) for cache in self._pods}
        self._slices = cache_dispensable(caches, SERVE_SLICES, namespaces)
        self._slices_of = {cache.kind.namespace: cache.add_index(_service_label) for cache in self._slices}
        services = cache_dispensable(caches, list_kinds_around(settings)[lookups.SERVICE], namespaces)
        self._around = {lookups.RAY_CLUSTER: clusters, lookups.SERVICE: services}
        self._understanding = Understanding(lambda item: work_out(item, settings), with_metadata)
        self._interests = Interests()
        self._memory = Memory()
        self._again = Signal()
        for kind in (APPLICATIONS, PROXY):
            asking.facts.listen(kind, self._again.send)

    @property
    def services(self) -> Scoped[WholeObject]:
        return self._services

    def sources(self) -> Sequence[Source]:
        controller = its_controller(RAY_SERVICE.api_version, RAY_SERVICE.kind)
        sources = [Source(self._again, signalled), *(Source(cache, itself) for cache in self._services)]
        for kind, scoped in self._around.items():
            awaiting = self._interests.awaiting(kind)
            sources += [Source(cache, keys_of) for cache in scoped for keys_of in (controller, awaiting)]
        sources += [Source(cache, self._services_of_pod) for cache in self._pods]
        return [*sources, *(Source(cache, self._services_of_slice) for cache in self._slices)]

    def subject(self, key: Key) -> Subject | None:
        item = self._services.get(key)
        if item is None:
            self._interests.forget(key)
            self._understanding.forget(key)
            self._memory.forget(key)
            for kind in (APPLICATIONS, PROXY):
                self._asking.facts.forget(kind, key)
            return None
        return subject_of(item, RAY_SERVICE.api_version, RAY_SERVICE.kind)

    def plan(self, key: Key, now: float) -> Plan:
        item, cache = self._services.get(key), self._services.in_namespace(key.namespace)
        if item is None:
            return Plan()
        if cache.refused:
            wait = Wait(Hold.NOT_KNOWN, f"RayServices cannot be seen any more: {cache.refused}", "they can be read")
            return Plan(waits=(wait,), wake_after=UNKNOWN_POLL)
        self._interests.forget(key)
        plan = self._plan(key, item, now)
        self._memory.begun(key, plan, now)
        return plan

    def after(self, key: Key, outcome: Outcome) -> None:
        self._memory.ended(key, outcome)

    def _plan(self, key: Key, item: WholeObject, now: float) -> Plan:
        meaning = self._understanding.understand(item)
        if meaning.service is None:
            return Plan(waits=(Wait(Hold.REFUSED, str(meaning.refusal), "the spec is mended"),))
        objects = CachedObjects(key, item.metadata.uid, self._around, self._interests)
        observed = ObservedService(
            service=meaning.service,
            tree=tree_of(item),
            objects=objects,
            endpoints=self._count_endpoints(key, service_serve_service_name(meaning.service)),
        )
        names = {observed.active_name, observed.pending_name} - {""}
        observed = msgspec.structs.replace(observed, pods={name: self._pods_around(key, name) for name in names})
        observed = self._ask(key, observed)
        remembered = self._memory.remembered(key)
        plan = plan_service(observed, self._settings, remembered, now, refusal=meaning.refusal)
        if objects.has_unknown or isinstance(observed.endpoints, Unknown):
            return msgspec.structs.replace(plan, wake_after=soonest((plan.wake_after, UNKNOWN_POLL)))
        return plan

    def _ask(self, key: Key, observed: ObservedService) -> ObservedService:
        """With what Serve and its proxies say, as far as they are asked."""
        facts, calls, uid = self._asking.facts, self._asking.calls, observed.service.metadata.uid
        asked = list_questions(observed, self._settings)
        serve = {applications_key(uid, each.cluster): each for each in asked if isinstance(each, AskServe)}
        proxies = {proxy_key(uid, each.uid): each for each in asked if isinstance(each, AskProxy)}
        space = key.namespace
        facts.watch_all(
            APPLICATIONS,
            key,
            (Question(fact, calls.ask_serve(space, each), f"{space}/{each.address}") for fact, each in serve.items()),
        )
        facts.watch_all(
            PROXY,
            key,
            (Question(fact, calls.ask_proxy(space, each), f"{each.ip}:{each.port}") for fact, each in proxies.items()),
        )
        return msgspec.structs.replace(
            observed,
            serve={each.cluster: facts.get(fact) for fact, each in serve.items()},
            proxies={each.uid: facts.get(fact) for fact, each in proxies.items()},
        )

    def _pods_around(self, key: Key, name: str) -> tuple[PodView, ...] | Unknown:
        cache, cluster = self._pods.in_namespace(key.namespace), Key(key.namespace, name)
        self._interests.note(key, _POD, cluster)
        if cache.refused:
            return Unknown(cache.refused)
        return tuple(view_ray_pod(pod) for pod in self._pods_of[cache.kind.namespace].at(str(cluster)))

    def _count_endpoints(self, key: Key, name: str) -> int | Unknown:
        cache, service = self._slices.in_namespace(key.namespace), Key(key.namespace, name)
        self._interests.note(key, _SLICE, service)
        if cache.refused or not cache.synced.is_set():
            return Unknown(cache.refused or "EndpointSlices have not been listed yet")
        slices = self._slices_of[cache.kind.namespace].at(str(service))
        return count_ready(each.endpoints or () for each in slices)

    def _services_of_pod(self, before: Object | None, after: Object | None) -> Iterable[Key]:
        pod = after or before
        cluster = pod.metadata.labels.get(labels.CLUSTER) if pod is not None else None
        return self._interests.wanting(_POD, Key(pod.metadata.namespace, cluster)) if pod and cluster else ()

    def _services_of_slice(self, before: Object | None, after: Object | None) -> Iterable[Key]:
        found = after or before
        name = found.metadata.labels.get(SERVICE_OF_SLICE) if found is not None else None
        return self._interests.wanting(_SLICE, Key(found.metadata.namespace, name)) if found and name else ()


def _service_label(found: Object) -> tuple[str, ...]:
    name = found.metadata.labels.get(SERVICE_OF_SLICE)
    return (str(Key(found.metadata.namespace, name)),) if name else ()
