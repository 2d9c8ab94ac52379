"""What a path is about: a resource, one object of it, a subresource, or something that is no resource at all.

Rules: ``/api/v1/…`` is the core group, ``/apis/GROUP/VERSION/…`` every other; ``namespaces/NAME/RESOURCE`` is the
resource in that namespace, ``namespaces/NAME`` and its ``status`` and ``finalize`` are the namespace itself. Names
are not checked here.
"""

from msgspec import Struct

_NAMESPACE_SUBRESOURCES = ("status", "finalize")


class Target(Struct, frozen=True, gc=False):
    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""  # what follows a proxy subresource


def parse_target(path: str) -> Target | None:
    """None for a path that names no resource: discovery, health, OpenAPI."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) >= 3:
        return _parse_resource("", parts[1], parts[2:])
    if parts[:1] == ["apis"] and len(parts) >= 4:
        return _parse_resource(parts[1], parts[2], parts[3:])
    return None


def _parse_resource(group: str, version: str, parts: list[str]) -> Target:
    namespace = ""
    if (
        parts[0] == "namespaces"
        and len(parts) >= 3
        and not (len(parts) == 3 and parts[2] in _NAMESPACE_SUBRESOURCES and not group)
    ):
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource, *rest = (*parts, "", "", "")[: max(len(parts), 3)]
    return Target(group, version, plural, namespace, name, subresource, "/".join(part for part in rest if part))
