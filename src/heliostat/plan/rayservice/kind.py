"""RayService's row: how one is observed and planned, and what an edit of it will be."""

from collections.abc import Iterator

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.rayservice import RayService, RayServiceSpec
from heliostat.api.validation import service_problems
from heliostat.api.validation.service import SPEC_PREFIX, SPEC_REASON
from heliostat.desired.rayservice.serve_config import list_applications, read_serve_config
from heliostat.desired.slots import Impossible
from heliostat.kube.facts import Fact, Unknown
from heliostat.kube.plan import Plan
from heliostat.kube.resource_types import ResourceType
from heliostat.plan.kind import Kind, Surroundings
from heliostat.plan.misfits import MisfitRule
from heliostat.plan.rayservice.answers import RUNNING, ApplicationInfo, ServeInfo
from heliostat.plan.rayservice.deletion import release
from heliostat.plan.rayservice.edits import tell_edit
from heliostat.plan.rayservice.observed import ObservedService, Remembered, observe_service
from heliostat.plan.rayservice.reasons import Hold
from heliostat.plan.rayservice.room import measure_room
from heliostat.plan.rayservice.service import plan_service
from heliostat.plan.situation import Situation

NOT_READ = Unknown("nobody has read them")


def _observe(tree: JsonObject, there: Surroundings) -> ObservedService:
    """Nobody asks Serve here: what it runs is unknown, and so are the endpoints."""
    observed = observe_service(tree, there.objects)
    room = measure_room(there.objects)
    return replace(observed, objects=there.hide_from(observed.objects), endpoints=NOT_READ, room=room)


def _plan(situation: Situation[ObservedService, None, Remembered]) -> Plan:
    """Where nobody has asked Serve, its silence says nothing."""
    plan = plan_service(situation)
    if situation.observed.serve:
        return plan
    return replace(plan, waits=tuple(wait for wait in plan.waits if wait.reason != Hold.SERVE_SILENT))


def _tell(situation: Situation[ObservedService, None, Remembered], live: JsonObject | None) -> Iterator[str]:
    if situation.refusal is None:
        yield from tell_edit(situation.observed, live, situation.settings)


def _imagine(observed: ObservedService) -> ObservedService:
    """Its clusters run what the spec asks for, and their heads take requests."""
    config = read_serve_config(observed.service)
    wanted = {} if isinstance(config, Impossible) else list_applications(config)
    told = Fact(ServeInfo({name: ApplicationInfo(RUNNING, config=each) for name, each in wanted.items()}))
    clusters = [name for name in (observed.active_name, observed.pending_name) if name]
    heads = [head for head in map(observed.find_head, clusters) if head is not None]
    return replace(
        observed,
        endpoints=len(heads),
        serve=dict.fromkeys(clusters, told),
        proxies={head.uid: Fact(True) for head in heads},
    )


# The clusters of one that is deleted go after it: the garbage collector sees to them, whatever the spec says.
_MISFIT = MisfitRule(reason=SPEC_REASON, prefix=SPEC_PREFIX, release=lambda metadata, _now: release(metadata))

RAY_SERVICE = Kind[ObservedService, None, Remembered](
    resource=ResourceType("ray.io/v1", "RayService", "rayservices"),
    struct=RayService,
    spec=RayServiceSpec,
    find_problems=service_problems,
    observe=_observe,
    build=lambda _service, _settings: None,  # its parts depend on names that the status holds
    plan=_plan,
    plan_misfit=_MISFIT.plan,
    remember=lambda _live: Remembered(),
    tell=_tell,
    imagine=_imagine,
)
