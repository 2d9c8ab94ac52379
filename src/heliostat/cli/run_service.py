"""What ``heliostat run`` shows and says of a RayService: both clusters while it moves, its addresses, why it fails."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster
from heliostat.cli.run_failure import tell_with_last_lines
from heliostat.cli.targets import Target
from heliostat.desired.rayservice.serve_config import list_applications, read_serve_config
from heliostat.desired.slots import Impossible
from heliostat.kube.jsontree import JsonObject
from heliostat.local.following import NotReadyError
from heliostat.local.gateway_address import find_gateway, open_gateway_address
from heliostat.local.service_following import Followed, ServiceFollower
from heliostat.local.service_progress import ServicePicture, plain_lines, table_lines
from heliostat.local.session import Session
from heliostat.local.state import State
from heliostat.local.view import View
from heliostat.local.ways import SERVICE, open_way
from heliostat.operator.kinds import RAY_SERVICE
from heliostat.plan.rayservice.loaded import tell_loaded
from heliostat.plan.rayservice.observed import ACTIVE


async def serve(
    session: Session, state: State, followed: Followed, view: View, changed: Sequence[JsonObject] = ()
) -> None:
    """Until it serves what its file says; then where it answers. ``changed`` is of the same file. Raises RunError."""
    ready = await ServiceFollower(session, followed, show_sides(view)).follow()
    view.done()
    for sentence in find_unread(followed.service, ready, changed):
        view.note(f"! {sentence}")
    name, address = ready["metadata"]["name"], await _open_address(session, state, ready)
    print(f"ready; export KUBECONFIG={state.kubeconfig}")
    for application, route in find_routes(ready):
        print(f"{application}: {address or ''}{route}")
    if address is None:
        print(f"heliostat expose {name} lets it answer at an address of this machine")
    print(f"heliostat get rayservice/{name} -w shows how it is")
    print(f"heliostat delete rayservice/{name} takes it down; heliostat down stops everything")


async def _open_address(session: Session, state: State, service: JsonObject) -> str | None:
    """Through its Gateway where it has one, else by a process of ours that stays."""
    gateway = await find_gateway(session, service)
    if gateway is not None:
        return await open_gateway_address(session, gateway)
    place = service["metadata"]["namespace"], service["metadata"]["name"]
    way = await asyncio.to_thread(open_way, state, *place, SERVICE)
    return None if way is None else way.address


def show_sides(view: View) -> Callable[[ServicePicture], None]:
    """A table where it can be written over, and lines of their own elsewhere."""
    lines_of = table_lines if view.is_live else plain_lines
    return lambda picture: view.show(lines_of(picture))


def find_routes(service: JsonObject) -> Iterator[tuple[str, str]]:
    """Name and path of each application."""
    config = read_serve_config(msgspec.convert(service, RayService))
    if not isinstance(config, Impossible):
        for name, application in list_applications(config).items():
            yield name, str(application.get("route_prefix", "/"))


def find_unread(before: JsonObject, after: JsonObject, changed: Iterable[JsonObject]) -> Iterator[str]:
    """Files that changed while the cluster that loaded them stayed."""
    if _active_cluster(before) and _active_cluster(before) == _active_cluster(after):
        sentences = (tell_loaded(after, tree["kind"], tree["metadata"]["name"]) for tree in changed)
        yield from filter(None, sentences)


def _active_cluster(service: JsonObject) -> str:
    return str(((service.get("status") or {}).get(ACTIVE) or {}).get("rayClusterName") or "")


async def tell_service_failure(cluster: Cluster, tree: JsonObject, error: NotReadyError, settings: Settings) -> str:
    return await tell_with_last_lines(cluster, Target(RAY_SERVICE, str(tree["metadata"]["name"])), error, settings)
