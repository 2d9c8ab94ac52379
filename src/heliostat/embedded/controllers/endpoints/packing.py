"""How endpoints with the same ports are spread over slices, so that as few slices as possible change.

Rules: an endpoint stays in its slice; what is new first fills slices that change anyway, the fullest first, then one
unchanged slice if all of it fits there, the fullest such, and otherwise new slices; a slice that loses its last
endpoint goes. So slices are not rearranged to become fewer: every change of a slice goes to every node.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from heliostat.embedded.controllers.views.endpoint_slices import Endpoint, EndpointSlice

MOST_ENDPOINTS = 100


class Packing(Struct, frozen=True):
    changed: dict[str, tuple[Endpoint, ...]]  # by name of the slice
    emptied: tuple[EndpointSlice, ...]
    added: tuple[tuple[Endpoint, ...], ...]  # new slices


def pack(
    slices: Sequence[EndpointSlice], wanted: Iterable[Endpoint], stale: frozenset[str], most: int = MOST_ENDPOINTS
) -> Packing:
    """``stale`` names the slices that change for another reason, such as their labels."""
    left = {endpoint.identity: endpoint for endpoint in wanted}
    kept = {found.metadata.name: _keep(found, left) for found in slices}
    emptied = tuple(found for found in slices if found.endpoints and not kept[found.metadata.name])
    gone = {found.metadata.name for found in emptied}
    changing = {
        found.metadata.name
        for found in slices
        if found.metadata.name in stale or list(found.endpoints or ()) != kept[found.metadata.name]
    } - gone
    rest = _fill_changing(kept, changing, list(left.values()), most)
    rest = _fill_unchanged(kept, changing, gone, rest, most)
    return Packing(
        changed={name: tuple(kept[name]) for name in sorted(changing)},
        emptied=emptied,
        added=tuple(tuple(rest[start : start + most]) for start in range(0, len(rest), most)),
    )


def _keep(found: EndpointSlice, left: dict[tuple[object, ...], Endpoint]) -> list[Endpoint]:
    """What the slice goes on to hold, as it should read now; it is no longer left to place."""
    identities = [endpoint.identity for endpoint in found.endpoints or ()]
    return [left.pop(identity) for identity in identities if identity in left]


def _fill_changing(
    kept: dict[str, list[Endpoint]], changing: set[str], rest: list[Endpoint], most: int
) -> list[Endpoint]:
    for name in sorted(changing, key=lambda name: (-len(kept[name]), name)):
        room = max(0, most - len(kept[name]))
        kept[name].extend(rest[:room])
        rest = rest[room:]
    return rest


def _fill_unchanged(
    kept: dict[str, list[Endpoint]], changing: set[str], gone: set[str], rest: list[Endpoint], most: int
) -> list[Endpoint]:
    """Full portions become slices of their own; only the last, smaller one may join a slice that is there."""
    portion = len(rest) % most
    fitting = [name for name in kept if name not in changing and name not in gone and len(kept[name]) + portion <= most]
    if portion == 0 or not fitting:
        return rest
    fullest = max(sorted(fitting), key=lambda name: len(kept[name]))
    kept[fullest].extend(rest[len(rest) - portion :])
    changing.add(fullest)
    return rest[: len(rest) - portion]
