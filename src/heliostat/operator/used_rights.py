"""Which rights a program really uses: a transport that notes them, and a comparison with the table of ``rights``.

What a call asks for is read from its method and path, as the API server's own authorizer does. Tests run the operator
through it: what is used must be granted, and what is granted must be used or be excused here.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.operator.rights import Right, covers
from heliostat.runtime.transport import Call, Chunks, Reply, Transport

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SELDOM = ("get", "list")
# Whoever is authenticated may ask about itself.
_FREE_GROUP = "authorization.k8s.io"


class Use(Struct, frozen=True, order=True):
    verb: str
    group: str
    resource: str
    subresource: str = ""

    def __str__(self) -> str:
        name = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {name}" + (f".{self.group}" if self.group else "")


def read_use(call: Call) -> Use | None:
    """None: not about a resource (discovery), or free to everybody."""
    root, *rest = call.path.strip("/").split("/")
    group, parts = ("", rest[1:]) if root == "api" else (rest[0] if rest else "", rest[2:])
    if root not in ("api", "apis") or not parts or group == _FREE_GROUP:
        return None
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    resource, name, subresource = (*parts, "", "")[:3]
    verb = _VERBS.get(call.method) or _reading(call, has_name=bool(name))
    return Use("deletecollection" if verb == "delete" and not name else verb, group, resource, subresource)


def _reading(call: Call, *, has_name: bool) -> str:
    if dict(call.query).get("watch") in ("true", "1"):
        return "watch"
    return "get" if has_name else "list"


class UsedRights:
    """A transport that passes everything on; ``used`` is what went through it."""

    def __init__(self, transport: Transport, used: set[Use] | None = None) -> None:
        self._transport = transport
        self.used: set[Use] = set() if used is None else used  # several may share one

    async def send(self, call: Call, seconds: float) -> Reply:
        self._note(call)
        return await self._transport.send(call, seconds)

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        self._note(call)
        return await self._transport.open(call, seconds)

    async def close(self) -> None:
        await self._transport.close()

    def _note(self, call: Call) -> None:
        use = read_use(call)
        if use is not None:
            self.used.add(use)


def list_ungranted(used: Iterable[Use]) -> list[Use]:
    """Used without a right in the table."""
    return sorted(use for use in used if not covers(use.verb, use.group, use.resource, use.subresource))


def list_unused(used: Iterable[Use], rights: Iterable[Right]) -> list[Use]:
    """Granted, never used, and without an excuse.

    Excused is what Kubernetes asks for on another's behalf; ``get``, because a single object is read only to find out
    what became of a write whose answer was lost; and ``list``, which is for servers whose watches cannot begin with
    what is there.
    """
    granted = {
        Use(verb, right.group, *_split(right.resource))
        for right in rights
        if not right.is_indirect
        for verb in right.verbs
        if verb not in _SELDOM
    }
    return sorted(granted - set(used))


def _split(resource: str) -> tuple[str, str]:
    name, _, subresource = resource.partition("/")
    return name, subresource
