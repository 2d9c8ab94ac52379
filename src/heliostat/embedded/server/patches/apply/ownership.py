"""How ownership moves when an object changes: by an update, and by an apply.

Whoever changes a field owns it from then on, and nobody else does; an apply may only do so by force, otherwise it
conflicts. Whoever applies owns exactly what it applied, together with whoever owns the same value. A field that is
gone is owned by nobody.
"""

from heliostat.embedded.server.patches.apply.conflicts import Conflict, ConflictsError
from heliostat.embedded.server.patches.apply.owners import Owned, Owner, Ownership
from heliostat.embedded.server.patches.apply.pruning import prune
from heliostat.embedded.server.patches.apply.typed_compare import Comparison, compare_values
from heliostat.embedded.server.patches.apply.typed_fields import fields_of, fit_to_schema
from heliostat.embedded.server.patches.apply.typed_merge import merge_values
from heliostat.embedded.server.patches.apply.versions import Endpoint
from heliostat.kube.jsontree import JsonObject


def own_update(old: JsonObject, new: JsonObject, owned: Owned, owner: Owner, endpoint: Endpoint) -> Owned:
    """The owners after ``owner``, who owns nothing yet, changed an object."""
    differences = _Differences(old, new, endpoint)
    left = _take_away(_fit_to_schemas(owned, endpoint), owner, differences)
    change = differences.in_version(endpoint.api_version)
    fields = endpoint.writable(change.changed | change.added)
    return {**left, owner: Ownership(fields, endpoint.api_version)} if fields else left


def own_apply(
    live: JsonObject, applied: JsonObject, owned: Owned, owner: Owner, endpoint: Endpoint, *, force: bool
) -> tuple[JsonObject, Owned]:
    """The object and its owners after ``owner`` applied; raises ``ConflictsError``."""
    owned = _fit_to_schemas(owned, endpoint)
    last = owned.get(owner)
    fields = endpoint.writable(fields_of(applied, endpoint.shape))
    owned = {**owned, owner: Ownership(fields, endpoint.api_version)}
    merged: JsonObject = merge_values(live, applied, endpoint.shape)
    if last and last.fields:
        merged = prune(merged, owned, last, endpoint)
    differences = _Differences(live, merged, endpoint)
    conflicts = _find_conflicts(owned, owner, differences)
    if conflicts and not force:
        raise ConflictsError(conflicts)
    return merged, _take_away(owned, owner, differences)


class _Differences:
    """Two objects compared, in whichever version an owner needs."""

    def __init__(self, old: JsonObject, new: JsonObject, endpoint: Endpoint) -> None:
        self._old, self._new, self._endpoint = old, new, endpoint
        self._known: dict[str, Comparison] = {}

    def in_version(self, api_version: str) -> Comparison:
        if api_version not in self._known:
            self._known[api_version] = self._compare(api_version)
        return self._known[api_version]

    def _compare(self, api_version: str) -> Comparison:
        shape = self._endpoint.shape_in(api_version) or self._endpoint.shape
        old, new = (self._endpoint.convert(tree, api_version) for tree in (self._old, self._new))
        return compare_values(old, new, shape).filtered(self._endpoint.writable)


def _fit_to_schemas(owned: Owned, endpoint: Endpoint) -> Owned:
    """Ownership under the present schemas; entries of versions that are no longer served are dropped."""
    fitted = {}
    for owner, ownership in owned.items():
        shape = endpoint.shape_in(ownership.api_version)
        if shape:
            fitted[owner] = Ownership(fit_to_schema(ownership.fields, shape), ownership.api_version)
    return fitted


def _find_conflicts(owned: Owned, owner: Owner, differences: _Differences) -> list[Conflict]:
    found: list[Conflict] = []
    for other in sorted(owned, key=lambda other: other.sort_key):
        if other != owner:
            change = differences.in_version(owned[other].api_version)
            found += [(other, path) for path in (owned[other].fields & (change.changed | change.added)).paths()]
    return found


def _take_away(owned: Owned, owner: Owner, differences: _Differences) -> Owned:
    """The owners once all but ``owner`` lost what changed, and what is gone."""
    left = {}
    for other, ownership in owned.items():
        fields = ownership.fields
        if other != owner:
            change = differences.in_version(ownership.api_version)
            fields = fields - (change.changed | change.added | change.removed)
        if fields:
            left[other] = Ownership(fields, ownership.api_version)
    return left
