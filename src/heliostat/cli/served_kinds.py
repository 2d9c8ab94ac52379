"""What kinds a cluster serves, as it tells itself, and which one a person means by a word.

A word is a plural, a singular, a short name, a kind, or one of these with its group (``jobs.batch``); built-in kinds
come before others. An unknown word gets the nearest name as a hint.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from heliostat.api.kinds import GROUP
from heliostat.api.kinds import KINDS as RAY_KINDS
from heliostat.cli.errors import CommandError
from heliostat.kube.nearest import nearest_name
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.client import Client
from heliostat.runtime.transport import Call

_FORM = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_ACCEPT = ",".join((_FORM.format("v2"), _FORM.format("v2beta1"), "application/json"))
INSTALL = "heliostat crds | heliostat apply -f -"


class _Kind(Struct, frozen=True):
    kind: str = ""


class _Resource(Struct, frozen=True, rename="camel"):
    resource: str
    response_kind: _Kind = _Kind()
    scope: str = "Namespaced"
    singular_resource: str = ""
    short_names: list[str] = []
    verbs: list[str] = []


class _Version(Struct, frozen=True):
    version: str
    resources: list[_Resource] = []


class _Metadata(Struct, frozen=True):
    name: str = ""


class _Group(Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    versions: list[_Version] = []


class _Discovery(Struct, frozen=True):
    kind: str
    items: list[_Group] = []


class ServedKind(Struct, frozen=True):
    resource: ResourceType
    words: frozenset[str]  # in lower case
    verbs: frozenset[str]


class ServedKinds:
    def __init__(self, kinds: list[ServedKind]) -> None:
        self._kinds = kinds

    def meant_by(self, word: str) -> ResourceType:
        """Raises CommandError."""
        lower = word.lower()
        for kind in self._kinds:
            if lower in kind.words:
                return kind.resource
        raise CommandError(self.tell_unknown(word), 1)

    def of(self, api_version: str, kind: str) -> ResourceType | None:
        found = (each.resource for each in self._kinds if each.resource.api_version == api_version)
        return next((resource for resource in found if resource.kind == kind), None)

    def of_kind(self, kind: str, group: str) -> list[ResourceType]:
        """In the version that the server prefers; none when it does not serve it."""
        found = (each.resource for each in self._kinds)
        return [each for each in found if each.kind == kind and each.group == group][:1]

    def is_known(self, word: str) -> bool:
        return any(word.lower() in each.words for each in self._kinds)

    def explain_missing(self, api_version: str, kind: str) -> str:
        """Why a document of this kind cannot be applied, with the way out."""
        problem = f"the cluster serves no {kind} of {api_version}"
        others = [each.resource.api_version for each in self._kinds if each.resource.kind == kind]
        if others:
            return f"{problem}; it serves {', '.join(others)}"
        if kind in RAY_KINDS:
            return f"{problem}: its definition is not installed; {INSTALL}"
        meant = nearest_name(kind, {each.resource.kind for each in self._kinds})
        return f"{problem}; did you mean {meant}?" if meant else f"{problem}; install its CustomResourceDefinition"

    def tell_unknown(self, word: str) -> str:
        ours = {kind.lower(): kind for kind in RAY_KINDS} | {f"{kind.lower()}s": kind for kind in RAY_KINDS}
        ray_kind = ours.get(word.lower().removesuffix(f".{GROUP}"))
        if ray_kind is not None:
            return f"the cluster does not know the kind {ray_kind}: it is not installed; {INSTALL}"
        meant = nearest_name(word, sorted({*(name for kind in self._kinds for name in kind.words), *ours}))
        return f"unknown kind {word!r}; " + (f"did you mean {meant}?" if meant else "heliostat get --kinds lists all")

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """Name, apiVersion and kind of each, once."""
        seen: set[tuple[str, str]] = set()
        for served in self._kinds:
            resource = served.resource
            if (str(resource), resource.kind) not in seen:
                seen.add((str(resource), resource.kind))
                yield resource.plural, resource.api_version, resource.kind


async def fetch_kinds(client: Client) -> ServedKinds:
    kinds: list[ServedKind] = []
    for path in ("/api", "/apis"):
        body = await client.request(Call(method="GET", path=path, accept=_ACCEPT))
        kinds += _read(body)
    return ServedKinds(kinds)


def _read(body: bytes) -> Iterator[ServedKind]:
    try:
        discovery = msgspec.json.decode(body, type=_Discovery)
    except msgspec.MsgspecError:
        raise CommandError("the server's list of kinds cannot be read; is it a Kubernetes API server?", 1) from None
    if discovery.kind != "APIGroupDiscoveryList":
        raise CommandError("the server does not list its kinds in one answer; Kubernetes 1.27 or later does", 1)
    for group in discovery.items:
        for version in group.versions:
            for resource in version.resources:
                yield _served(group.metadata.name, version.version, resource)


def _served(group: str, version: str, found: _Resource) -> ServedKind:
    kind = found.response_kind.kind
    names = {found.resource, found.singular_resource, kind.lower(), *found.short_names} - {""}
    words = {*names, *(f"{name}.{group}" for name in names if group)}
    api_version = f"{group}/{version}" if group else version
    resource = ResourceType(api_version, kind, found.resource, found.scope == "Namespaced")
    return ServedKind(resource, frozenset(words), frozenset(found.verbs))
