"""How the objects of one endpoint are typed and which fields nobody can own there."""

from collections.abc import Callable

from msgspec import Struct

from heliostat.embedded.server.patches.apply.field_set import FieldSet
from heliostat.embedded.server.patches.apply.shapes import Shape, Types
from heliostat.kube.jsontree import JsonObject


def with_api_version(tree: JsonObject, api_version: str) -> JsonObject:
    """The conversion of custom resources without a webhook: the same object under another apiVersion."""
    return tree if tree.get("apiVersion") == api_version else {**tree, "apiVersion": api_version}


def all_fields(fields: FieldSet) -> FieldSet:
    return fields


class Endpoint(Struct, frozen=True, kw_only=True):
    """One kind in one version, or a subresource of it.

    ``types`` gives the types of the kind by apiVersion, None for one that is not served (any more). ``writable`` takes
    those fields out of a set that requests to this endpoint do not change, whatever they say (see ``reset_fields``).
    """

    api_version: str
    kind: str
    types: Callable[[str], Types | None]
    subresource: str = ""
    writable: Callable[[FieldSet], FieldSet] = all_fields
    convert: Callable[[JsonObject, str], JsonObject] = with_api_version
    zeros: JsonObject = {}  # what a built-in object has before anybody has set anything: nobody owns it

    @property
    def shape(self) -> Shape:
        shape = self.shape_in(self.api_version)
        if shape is None:
            raise LookupError(f"{self.api_version} is served, so it must have types")
        return shape

    def shape_in(self, api_version: str) -> Shape | None:
        types = self.types(api_version)
        return types.root if types else None

    @property
    def empty(self) -> JsonObject:
        return {"apiVersion": self.api_version, "kind": self.kind}

    @property
    def full_kind(self) -> str:
        """As messages name it: ``apps/v1, Kind=Deployment``."""
        return show_kind(self.api_version, self.kind)


def show_kind(api_version: str, kind: str) -> str:
    """An apiVersion of more than two parts is none, and then the kind is not known either."""
    if api_version.count("/") > 1:
        return "/, Kind="
    prefix = "" if "/" in api_version else "/"
    return f"{prefix}{api_version}, Kind={kind}"
