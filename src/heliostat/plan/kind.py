"""A kind that is reconciled, as one row: how its objects are read, observed, built and planned, and what is told of it.

The operator, ``plan``, ``render``, ``explain`` and the tests all take the row, so there is one way from an object to
its plan. Two of its parts are for those who ask without a running operator: ``remember`` is what may be known of an
object that was never seen before, ``imagine`` is what Ray would say if all went well.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import ObjectMeta
from heliostat.api.review import Review, review
from heliostat.api.settings import Settings
from heliostat.api.validation import refusal
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import KindName, ListedObjects, Objects
from heliostat.kube.plan import Plan, Wait
from heliostat.kube.problems import Problem
from heliostat.kube.resource_types import ResourceType
from heliostat.plan.because import Hold
from heliostat.plan.draft import soonest
from heliostat.plan.situation import Situation, Viewed

O = TypeVar("O", bound=Viewed)  # noqa: E741
D = TypeVar("D")
R = TypeVar("R")


UNKNOWN_POLL = 5.0  # seconds until an object is requeued whose caches are not complete


class Surroundings(Struct, frozen=True, kw_only=True):
    """What is there, as far as it was read. ``unread`` are kinds that were not, and why."""

    objects: tuple[JsonObject, ...] = ()
    unread: Mapping[KindName, str] = {}

    def hide_from(self, objects: Objects) -> ListedObjects:
        """The objects without the kinds that were not read: those are unknown, and never "there is none"."""
        kinds = objects.kinds if isinstance(objects, ListedObjects) else {}
        return ListedObjects({**kinds, **{kind: Unknown(why) for kind, why in self.unread.items()}})


class Meaning(Struct, Generic[D], frozen=True, kw_only=True):
    """What a spec says. ``object`` is None for one that does not match the schema: ``refusal`` tells why."""

    object: Any
    desired: D | None = None
    refusal: Problem | None = None
    warnings: tuple[Problem, ...] = ()


def plan_correction(_metadata: ObjectMeta, _spec: Any, misfit: Problem, _now: float) -> Plan:
    """An object that does not match the schema, and that somebody has to correct."""
    return Plan(waits=(Wait(Hold.REFUSED, str(misfit), misfit.fix),))


class Kind(Struct, Generic[O, D, R], frozen=True, kw_only=True):
    resource: ResourceType
    struct: type[Any]  # the whole object, typed
    spec: type[Any]  # its spec, typed
    review: Callable[[Any, Settings], Review] = review  # a document of it, as the API server and the rules take it
    find_problems: Callable[[Any, Settings], Iterable[Problem]]  # the rules for its spec
    observe: Callable[[JsonObject, Surroundings], O]  # what a list of objects shows of it
    build: Callable[[Any, Settings], D]  # what should be there
    plan: Callable[[Situation[O, D, R]], Plan]
    remember: Callable[[JsonObject | None], R]  # of the object as it is stored now
    refuse: Callable[[O], Problem | None] = lambda _observed: None  # the rules for its status
    plan_misfit: Callable[[ObjectMeta, Any, Problem, float], Plan] = plan_correction
    tell: Callable[[Situation[O, D, R], JsonObject | None], Iterable[str]] = lambda _situation, _live: ()
    imagine: Callable[[O], O] = lambda observed: observed
    assume: Callable[[Any, D | None], Iterable[JsonObject]] = lambda _object, _desired: ()  # what others have to make
    home: str = "heliostat"

    def name_room(self, package: str) -> str:
        """Its folder in ``explain`` and ``operator``, which are above this one and cannot be imported here."""
        return f"{self.home}.{package}.{self.resource.kind.lower()}"

    def understand(self, value: Any, problems: Iterable[Problem], settings: Settings) -> Meaning[D]:
        found = tuple(problems)
        refused = refusal(found)
        return Meaning(
            object=value,
            desired=self.build(value, settings) if refused is None else None,
            refusal=refused,
            warnings=tuple(problem for problem in found if problem.severity == "warning"),
        )

    def decide(self, situation: Situation[O, D, R]) -> Plan:
        """The plan that is carried out: whoever has an incomplete view of the object requeues it soon."""
        plan = self.plan(situation)
        if not situation.observed.has_unknown:
            return plan
        return replace(plan, wake_after=soonest((plan.wake_after, UNKNOWN_POLL)))

    def situate(
        self, observed: O, meaning: Meaning[D], remembered: R, settings: Settings, now: float
    ) -> Situation[O, D, R]:
        return Situation(
            observed=observed,
            desired=meaning.desired,
            settings=settings,
            remembered=remembered,
            now=now,
            refusal=meaning.refusal or self.refuse(observed),
            warnings=meaning.warnings,
        )

    def situate_reviewed(
        self, reviewed: Review, there: Surroundings, live: JsonObject | None, settings: Settings, now: float
    ) -> Situation[O, D, R]:
        """Of an object that the API server would take in. ``live`` is the one that is stored now, if any."""
        meaning = self.understand(reviewed.object, reviewed.problems, settings)
        observed = self.observe(reviewed.tree or {}, there)
        return self.situate(observed, meaning, self.remember(live), settings, now)
