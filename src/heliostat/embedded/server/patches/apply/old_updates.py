"""Puts the oldest update entries together when there are too many.

Rules: more than ten entries of updates are brought down to ten by merging the oldest of each version into one entry of
the manager ``ancient-changes``, which has the time of the youngest merged into it. Applies are never merged.
"""

from heliostat.embedded.server.patches.apply.owners import UPDATE, Owner, Owners, Ownership, seconds_of, updater

MAX_UPDATERS = 10
ANCIENT = "ancient-changes"


def put_oldest_together(owners: Owners) -> Owners:
    updaters = [owner for owner in owners.owned if owner.operation == UPDATE]
    surplus = len(updaters) - MAX_UPDATERS
    if surplus <= 0:
        return owners
    owned, times = dict(owners.owned), dict(owners.times)
    first: dict[str, Owner] = {}  # by version, the oldest one, which waits for a second to be merged with
    for owner in sorted(updaters, key=lambda owner: (seconds_of(owners.times.get(owner)), owner.sort_key)):
        version = owned[owner].api_version
        bucket = updater(ANCIENT, version)
        if first.setdefault(version, owner) == owner or owner == bucket or surplus == 0:
            continue
        if bucket not in owned:
            owned[bucket] = owned.pop(first[version])
        owned[bucket] = Ownership(owned.pop(owner).fields | owned[bucket].fields, version)
        times[bucket] = owners.times.get(owner, "")
        surplus -= 1
    return Owners(owned, times)
