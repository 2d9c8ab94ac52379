"""A resource that the server serves: its names, its scope, its schema, and what is special about it.

Built-in kinds come from the table of core schemas, custom ones from their CRD. One value describes either, so the
handlers know no kinds. Several versions of one kind share their storage; an object is kept in the storage version's
apiVersion and served under the one asked for.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.server.custom.custom_rules import CustomRules
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema

Definitions: TypeAlias = Callable[[str], JsonSchema]

STANDARD_VERBS: tuple[str, ...] = (
    "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
)  # fmt: skip


class Column(Struct, frozen=True):
    """One column of a table, as a CRD prints it."""

    name: str
    type: str
    path: str
    priority: int = 0
    description: str = ""
    format: str = ""


class Resource(Struct, frozen=True, kw_only=True):
    group: str
    version: str
    plural: str
    kind: str
    singular: str = ""
    list_kind: str = ""
    is_namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    verbs: tuple[str, ...] = STANDARD_VERBS
    schema: JsonSchema
    definitions: Definitions
    definition: str = ""  # the name in the core table; empty for a custom resource
    is_custom: bool = False
    storage_version: str = ""  # apiVersion that objects are kept in
    storage_name: str = ""  # the store's name for the resource, shared by every version
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()  # field selectors beyond metadata.name and metadata.namespace
    scale_paths: JsonObject | None = None  # of a custom resource's scale subresource
    preserves_unknown: bool = False
    rules: CustomRules | None = None  # CEL, of custom resources
    is_terminating: bool = False  # its definition is going: nothing new is taken

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """``pods`` or ``rayclusters.ray.io``: how messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    @property
    def item_prefix(self) -> bytes:
        """How every stored body of a built-in kind starts; lists leave this part out of their items."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.storage_version}",'.encode()
