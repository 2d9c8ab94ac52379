"""Who owns which field: the server's side of server-side apply. The rules themselves are ``patches.apply``' work."""

from collections.abc import Callable
from functools import lru_cache

from heliostat.embedded.kinds.typed.typed_form import fit_type
from heliostat.embedded.server.patches.apply.reset_fields import writable_fields
from heliostat.embedded.server.patches.apply.shapes import Types, custom_types
from heliostat.embedded.server.patches.apply.tracking import apply_patch, track_update
from heliostat.embedded.server.patches.apply.versions import Endpoint
from heliostat.embedded.server.registry import Registry
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp


class FieldTracking:
    """Types are built once for each kind and version, and again when the set of resources changes."""

    def __init__(self, registry: Registry, now: Callable[[], float]) -> None:
        self._registry = registry
        self._now = now
        self._generation = registry.generation
        self._types: dict[tuple[str, str], Types] = {}

    def apply(
        self, live: JsonObject | None, body: object, resource: Resource, subresource: str, manager: str, *, force: bool
    ) -> JsonObject:
        """The object after the apply, with its owners; raises RefusedError."""
        endpoint = self._endpoint(resource, subresource)
        return apply_patch(live, body, endpoint, manager=manager, now_text=self._moment(), force=force)

    def track(
        self, live: JsonObject, new: JsonObject, resource: Resource, subresource: str, manager: str
    ) -> JsonObject:
        """The object of any other write, with its owners. One that nobody ever applied has none."""
        if not live["metadata"].get("managedFields"):
            new["metadata"].pop("managedFields", None)
            return new
        endpoint = self._endpoint(resource, subresource)
        return track_update(live, new, endpoint, manager=manager, now_text=self._moment())

    def _moment(self) -> str:
        return format_timestamp(self._now())

    def _endpoint(self, resource: Resource, subresource: str) -> Endpoint:
        writable = writable_fields(
            resource.kind, subresource, is_custom=resource.is_custom, has_status=resource.has_status
        )
        return Endpoint(
            api_version=resource.api_version,
            kind=resource.kind,
            types=lambda api_version: self._types_of(api_version, resource.kind),
            subresource=subresource,
            writable=writable,
            zeros=_zeros(resource.definition) if resource.definition else {},
        )

    def _types_of(self, api_version: str, kind: str) -> Types | None:
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            self._types.clear()
        key = (api_version, kind)
        if key not in self._types:
            resource = self._registry.find_kind(api_version, kind)
            if resource is None:
                return None
            self._types[key] = custom_types(resource.schema) if resource.is_custom else _builtin(resource.definition)
        return self._types[key]


@lru_cache(maxsize=256)
def _zeros(definition: str) -> JsonObject:
    tree: JsonObject = {}
    fit_type(tree, definition)
    return tree


@lru_cache(maxsize=256)
def _builtin(definition: str) -> Types:
    return Types({"$ref": definition})
