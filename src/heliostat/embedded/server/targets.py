"""What a path is about: a resource, one object of it, a subresource, or something that is no resource at all.

Rules: ``/api/v1/…`` is the core group, ``/apis/GROUP/VERSION/…`` every other; ``namespaces/NAME/RESOURCE`` is the
resource in that namespace, ``namespaces/NAME`` and its ``status`` and ``finalize`` are the namespace itself. An empty
part stays an empty part: an object has one path, so that nobody who filters paths can be led around. Names are not
checked here.
"""

from msgspec import Struct, structs

_NAMESPACE_SUBRESOURCES = ("status", "finalize")


class Target(Struct, frozen=True, gc=False):
    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""  # what follows a subresource; only a proxy's leads anywhere
    is_watch: bool = False  # the older way to ask for a watch

    @property
    def is_complete(self) -> bool:
        """Whether every part that another one depends on is there."""
        has_rest_to_serve = not self.rest or self.subresource == "proxy"
        return has_rest_to_serve and bool(self.name or not self.subresource)


def parse_target(path: str) -> Target | None:
    """None for a path that names no resource: discovery, health, OpenAPI."""
    if path.startswith("//"):
        return None
    parts = path.strip("/").split("/")
    if parts[:1] == ["api"] and len(parts) >= 3:
        return _parse_watch("", parts[1], parts[2:])
    if parts[:1] == ["apis"] and len(parts) >= 4:
        return _parse_watch(parts[1], parts[2], parts[3:])
    return None


def _parse_watch(group: str, version: str, parts: list[str]) -> Target:
    if parts[0] != "watch" or len(parts) == 1:
        return _parse_resource(group, version, parts)
    return structs.replace(_parse_resource(group, version, parts[1:]), is_watch=True)


def _parse_resource(group: str, version: str, parts: list[str]) -> Target:
    namespace = ""
    if (
        parts[0] == "namespaces"
        and len(parts) >= 3
        and parts[1]
        and not (len(parts) == 3 and parts[2] in _NAMESPACE_SUBRESOURCES and not group)
    ):
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource, *rest = (*parts, "", "", "")[: max(len(parts), 3)]
    return Target(group, version, plural, namespace, name, subresource, "/".join(rest))
