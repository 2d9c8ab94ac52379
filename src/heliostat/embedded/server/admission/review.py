"""What happens to an object between its validation and its write, kind by kind.

A namespaced object needs a namespace that is there and not going away; some kinds get parts that only the server
can give; a CustomResourceDefinition is judged, established and served. Each rule is a small function in a table, by
resource.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import Struct

from heliostat.embedded.refusals import forbidden
from heliostat.embedded.server.admission.kind_admission import KindAdmission
from heliostat.embedded.server.custom.custom_resources import (
    fill_in_names,
    keep_stored_versions,
    start_status,
)
from heliostat.embedded.server.custom.definition_validation import check_definition
from heliostat.embedded.server.custom.definitions import CRDS, Definitions, DeleteObject
from heliostat.embedded.server.errors import Cause, RefusedError, not_found
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.registry import Registry
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject

NAMESPACES = "namespaces"
_KEPT_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})


class Surroundings(Struct, frozen=True):
    """What a rule may look at besides the object."""

    store: Store
    registry: Registry
    authority: Authority


Rule: TypeAlias = Callable[[JsonObject, JsonObject | None, Surroundings], None]


class Admission:
    def __init__(
        self, store: Store, registry: Registry, authority: Authority, kinds: KindAdmission, definitions: Definitions
    ) -> None:
        self._around = Surroundings(store, registry, authority)
        self._kinds = kinds
        self._definitions = definitions

    async def admit(self, new: JsonObject, old: JsonObject | None, resource: Resource, verb: str) -> None:
        if verb == "delete":
            _check_deletable(new, resource)
            return
        if verb == "create" and resource.is_namespaced:
            _check_namespace(new, resource, self._around.store)
        if verb == "create" and resource.is_terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(resource.plural, resource.group, new["metadata"]["name"], why)
        if verb == "create":
            await self._kinds.wait_for_parts(new, resource)
        for rule in RULES.get(resource.storage_name, ()):
            rule(new, old, self._around)
        self._kinds.admit(new, old, resource)

    def find_cautions(self, tree: JsonObject, resource: Resource, subresource: str = "") -> list[str]:
        return self._kinds.find_cautions(tree, resource, subresource)

    async def charge(self, new: JsonObject, old: JsonObject | None, resource: Resource, *, dry_run: bool) -> None:
        await self._kinds.charge(new, old, resource, dry_run=dry_run)

    def abandon(self, new: JsonObject, old: JsonObject | None, resource: Resource) -> None:
        self._kinds.abandon(new, old, resource)

    def written(self, tree: JsonObject, resource: Resource, *, deleted: bool) -> None:
        """After the write: what the server itself has to know at once."""
        self._kinds.written(tree, resource, deleted=deleted)
        if resource.storage_name != CRDS:
            return
        if deleted:
            self._around.registry.forget_custom(tree["metadata"]["name"])
        else:
            self._definitions.serve(tree)

    async def follow(self, tree: JsonObject, resource: Resource, delete: DeleteObject, *, deleted: bool) -> None:
        if resource.is_custom or resource.storage_name == CRDS:
            await self._definitions.follow(tree, resource, delete, deleted=deleted)


def _check_namespace(tree: JsonObject, resource: Resource, store: Store) -> None:
    name = tree["metadata"]["namespace"]
    record = store.get(Key(NAMESPACES, "", name))
    if record is None:
        raise not_found(NAMESPACES, "", name)
    namespace = msgspec.json.decode(record.body)
    if "deletionTimestamp" in namespace["metadata"]:
        message = f"namespace {name} is being terminated"
        own = tree["metadata"]["name"]
        raise RefusedError(
            403,
            "Forbidden",
            f'{resource.qualified} "{own}" is forbidden: unable to create new content in namespace {name} because it'
            " is being terminated",
            details={"name": own, "kind": resource.plural, **({"group": resource.group} if resource.group else {})},
            causes=[Cause("NamespaceTerminating", message, "metadata.namespace")],
        )


def _check_deletable(tree: JsonObject, resource: Resource) -> None:
    name = tree["metadata"]["name"]
    if resource.storage_name == NAMESPACES and name in _KEPT_NAMESPACES:
        message = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
        raise RefusedError(403, "Forbidden", message, details={"name": name, "kind": NAMESPACES})


def _start_definition(new: JsonObject, old: JsonObject | None, _around: Surroundings) -> None:
    fill_in_names(new)
    check_definition(new, old)
    if old is None:
        new["status"] = start_status(new)
    else:
        keep_stored_versions(new)


RULES: dict[str, tuple[Rule, ...]] = {CRDS: (_start_definition,)}
