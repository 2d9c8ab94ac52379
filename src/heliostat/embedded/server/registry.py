"""Which resources are served now: the built-in ones, and those of the CustomResourceDefinitions that are there."""

from collections.abc import Iterable, Iterator

from heliostat.embedded.server.builtin_kinds import builtin_resources
from heliostat.embedded.server.resources import Resource


class Registry:
    """One writer (the CRD handling), many readers. ``generation`` counts changes, for what is cached from it."""

    def __init__(self, *, with_previews: bool = False) -> None:
        self.generation = 0
        resources = builtin_resources(with_previews=with_previews)
        self._builtin = {_key(resource): resource for resource in resources}
        self._custom: dict[str, tuple[Resource, ...]] = {}  # by the CRD's name
        self._served = dict(self._builtin)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._served.get((group, version, plural))

    def find_kind(self, api_version: str, kind: str) -> Resource | None:
        group, slash, version = api_version.rpartition("/")
        wanted = (group if slash else "", version, kind)
        return next((r for r in self._served.values() if (r.group, r.version, r.kind) == wanted), None)

    def all(self) -> Iterator[Resource]:
        return iter(self._served.values())

    def is_builtin_group(self, group: str) -> bool:
        return any(resource.group == group for resource in self._builtin.values())

    def serve_custom(self, name: str, resources: Iterable[Resource]) -> None:
        """Serve these versions of one CRD, and no others of it."""
        self._custom[name] = tuple(resources)
        self._rebuild()

    def forget_custom(self, name: str) -> None:
        if self._custom.pop(name, None) is not None:
            self._rebuild()

    def _rebuild(self) -> None:
        self._served = dict(self._builtin)
        for resources in self._custom.values():
            self._served |= {_key(resource): resource for resource in resources}
        self.generation += 1


def _key(resource: Resource) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.plural
