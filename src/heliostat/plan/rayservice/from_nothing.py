"""Everything the operator would create for a RayService if nothing existed yet, as if its applications were running."""

from collections.abc import Callable

from heliostat.api.markers import JsonObject
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.desired.rayservice.cluster import build_cluster_of_service
from heliostat.desired.rayservice.names import choose_cluster_name
from heliostat.desired.rayservice.serve_config import read_serve_config
from heliostat.desired.rayservice.services import build_service_head_service, build_service_serve_service
from heliostat.desired.slots import Impossible
from heliostat.plan.raycluster.from_nothing import FromNothing

RenderChild = Callable[[JsonObject | Impossible, Settings], FromNothing]


def render_service(service: RayService, tree: JsonObject, settings: Settings, render_child: RenderChild) -> FromNothing:
    """``render_child`` shows what becomes of the RayCluster."""
    if service.spec.suspend:
        return FromNothing((), ("no RayCluster: spec.suspend is true",))
    cluster = choose_cluster_name(service, "", "")
    made = render_child(build_cluster_of_service(service, tree, cluster, settings), settings)
    config = read_serve_config(service)
    if isinstance(config, Impossible):
        return FromNothing(made.objects, (*made.notes, f"no applications and no Services: {config.message}"))
    head = build_service_head_service(service, cluster, settings)
    serve = build_service_serve_service(service, cluster)
    if isinstance(serve, Impossible):
        return FromNothing((*made.objects, head), (*made.notes, f"no serve Service: {serve.message}"))
    return FromNothing((*made.objects, head, serve), made.notes)
