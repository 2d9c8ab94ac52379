"""What the server answers about itself: discovery, OpenAPI, health, version, and the list of these paths.

Rules: answers follow the set of resources at once; a path of a served group that leads nowhere is a Status, any other
unknown path is plain text, as kube-apiserver has it.
"""

from collections.abc import Mapping
from hashlib import sha256

from heliostat.embedded.server.describing.aggregated_discovery import MEDIA_TYPE, build_aggregated, wants_aggregated
from heliostat.embedded.server.describing.discovery import (
    Group,
    build_group,
    build_group_list,
    build_resource_list,
    build_versions,
    groups_of,
)
from heliostat.embedded.server.describing.health import TEXT, Check, answer_health, health_paths
from heliostat.embedded.server.describing.version import build_version
from heliostat.embedded.server.errors import method_not_allowed, no_such_path
from heliostat.embedded.server.front.negotiation import Form, read_form
from heliostat.embedded.server.messages import Answer, Request, Response
from heliostat.embedded.server.openapi.answers import V2, V3, OpenApi, is_known, not_modified, tagged
from heliostat.embedded.server.reading.rendering import in_media
from heliostat.embedded.server.registry import Registry
from heliostat.kube.jsontree import JsonObject, encode_json


class ServerPaths:
    """Ask it last: it answers every path that nobody else knows."""

    def __init__(self, registry: Registry, checks: Mapping[str, Check], others: tuple[Group, ...] = ()) -> None:
        """``others`` are groups that somebody else answers for: they are listed and no more."""
        self._registry = registry
        self._checks = checks
        self._others = {group.name: group for group in others}
        self._generation = -1
        self._groups: dict[str, Group] = {}
        self._openapi = OpenApi({})
        self._aggregated: dict[str, bytes] = {}

    async def handle(self, request: Request) -> Answer:
        answer = await self._read(request)
        if request.method not in ("GET", "HEAD") and answer.status != 404:
            raise method_not_allowed()
        return answer

    async def _read(self, request: Request) -> Answer:
        self._notice_changes()
        first = request.path.removeprefix("/").partition("/")[0]
        if first in ("api", "apis"):
            return self._answer_discovery(request, request.path.rstrip("/"))
        if first == "openapi":
            return await self._openapi.answer(request) or _page_not_found()
        if request.path in ("/version", "/version/"):
            return Response(200, _indented(build_version()))
        if request.path == "/":
            return Response(200, _indented({"paths": sorted(self._own_paths())}))
        return answer_health(request, self._checks) or _page_not_found()

    def _notice_changes(self) -> None:
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            own = groups_of(self._registry)
            self._groups = own | self._others
            self._openapi = OpenApi(own)
            self._aggregated.clear()

    def _own_paths(self) -> list[str]:
        found = ["/api", "/api/v1", "/apis", V2, V3, "/version", *health_paths(self._checks)]
        for group in self._groups.values():
            if group.name:
                found += [f"/apis/{group.name}", *(f"/apis/{group.name}/{version}" for version in group.versions)]
        return found

    def _answer_discovery(self, request: Request, path: str) -> Answer:
        if path in ("/api", "/apis") and wants_aggregated(request):
            return self._answer_aggregated(request, path)
        tree = self._discover(request, path)
        if tree is None:
            return self._answer_nowhere(path)
        form = read_form(request)
        plain = Response(200, encode_json(tree) + b"\n")
        return plain if form.is_plain else in_media(plain, tree, form)

    def _discover(self, request: Request, path: str) -> JsonObject | None:
        match path.split("/")[1:]:
            case ["api"]:
                return build_versions(request.headers.get("host", "127.0.0.1"))
            case ["apis"]:
                return build_group_list(self._groups.values())
            case ["api", "v1"]:
                return build_resource_list(self._groups[""], "v1")
            case ["apis", group] if group and group in self._groups:
                return build_group(self._groups[group])
            case ["apis", group, version] if group and version in self._versions(group):
                return build_resource_list(self._groups[group], version)
        return None

    def _versions(self, group: str) -> Mapping[str, object]:
        return self._groups[group].versions if group in self._groups else {}

    def _answer_nowhere(self, path: str) -> Answer:
        """Within a built-in group the resource is missing; elsewhere the page is."""
        parts = path.split("/")[1:]
        if parts[0] == "api" or (len(parts) > 1 and self._registry.is_builtin_group(parts[1] or "-")):
            raise no_such_path()
        return _page_not_found()

    def _answer_aggregated(self, request: Request, path: str) -> Answer:
        if path not in self._aggregated:
            groups = [group for group in self._groups.values() if bool(group.name) == (path == "/apis")]
            self._aggregated[path] = encode_json(build_aggregated(groups))
        body = self._aggregated[path]
        tag = sha256(body).hexdigest().upper()
        return not_modified(tag, MEDIA_TYPE) if is_known(request, tag) else tagged(body, MEDIA_TYPE, tag, "public")


def _indented(tree: JsonObject) -> bytes:
    return in_media(Response(200, b""), tree, Form(pretty=True)).body


def _page_not_found() -> Response:
    return Response(404, b"404 page not found\n", TEXT)
