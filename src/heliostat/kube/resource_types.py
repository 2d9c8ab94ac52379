"""Where an object lives in the API: from group, version and plural to a path, and from a kind to its resource.

A controller names the types it works with; nothing is looked up in a running server. Kinds that exist only as a
subresource of another one (Binding, Eviction) say under which.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.kube.plan import Ref


class ResourceType(Struct, frozen=True):
    api_version: str
    kind: str
    plural: str
    is_namespaced: bool = True
    subresource: str = ""  # "binding": objects of this kind are posted to pods/NAME/binding

    @property
    def group(self) -> str:
        group, slash, _version = self.api_version.partition("/")
        return group if slash else ""

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def collection_path(self, namespace: str = "") -> str:
        """An empty namespace means all of them."""
        root = "/apis" if "/" in self.api_version else "/api"
        inside = f"/namespaces/{namespace}" if namespace and self.is_namespaced else ""
        return f"{root}/{self.api_version}{inside}/{self.plural}"

    def path(self, namespace: str, name: str, subresource: str = "") -> str:
        path = f"{self.collection_path(namespace)}/{name}"
        return f"{path}/{subresource}" if subresource else path


class UnknownKindError(LookupError):
    """An action about a kind that nobody declared."""


class ResourceTypes:
    """The types that one program writes and reads, by apiVersion and kind."""

    def __init__(self, types: Iterable[ResourceType] = ()) -> None:
        self._types: dict[tuple[str, str], ResourceType] = {}
        for resource_type in types:
            self.add(resource_type)

    def add(self, resource_type: ResourceType) -> None:
        self._types[(resource_type.api_version, resource_type.kind)] = resource_type

    def of(self, api_version: str, kind: str) -> ResourceType:
        found = self._types.get((api_version, kind))
        if found is None:
            raise UnknownKindError(f"{kind} of {api_version} was not declared: add its ResourceType")
        return found

    def of_ref(self, ref: Ref) -> ResourceType:
        return self.of(ref.api_version, ref.kind)
