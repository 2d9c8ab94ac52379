"""Which object, and which objects.

Rules: objects of one resource are ordered by their path, ``namespace/name`` or ``name``, compared as text. This is the
order kube-apiserver lists in: ``a-b/x`` comes before ``a/x``, because ``-`` sorts before ``/``.
A resource is opaque text here (``pods``, ``rayclusters.ray.io``); names are checked by the handlers, never here.
"""

from typing import TypeAlias

from msgspec import Struct

Bounds: TypeAlias = tuple[str, str | None]  # from (inclusive), to (exclusive; None means no end)


class Key(Struct, frozen=True, gc=False):
    """Which object. ``namespace`` is empty for a cluster-scoped one."""

    resource: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.resource} {self.path}"


class Scope(Struct, frozen=True):
    """Which objects: of one resource, in one namespace or any (empty), with one name or any (empty)."""

    resource: str
    namespace: str = ""
    name: str = ""

    def covers(self, key: Key) -> bool:
        return key.resource == self.resource and self.namespace in ("", key.namespace) and self.name in ("", key.name)

    @property
    def bounds(self) -> Bounds:
        """The smallest range of paths that holds every object of the scope."""
        if not self.namespace:
            return "", None
        if self.name:
            path = f"{self.namespace}/{self.name}"
            return path, path + "\0"
        return f"{self.namespace}/", f"{self.namespace}0"  # "0" is the character after "/"


def scopes_covering(key: Key) -> tuple[Scope, ...]:
    """Every scope that covers the key, each once."""
    anywhere = (Scope(key.resource), Scope(key.resource, "", key.name))
    if not key.namespace:
        return anywhere
    return (*anywhere, Scope(key.resource, key.namespace), Scope(key.resource, key.namespace, key.name))
