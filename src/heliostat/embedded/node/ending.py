"""The end of everything that runs in Pods of a state directory, without asking anybody: for the end of a machine."""

from pathlib import Path

from heliostat.embedded.node.isolating.cgroups import find_cgroups, remove_groups
from heliostat.embedded.node.isolating.plain_pods import remove_temporary
from heliostat.embedded.node.isolating.sandbox import find_sandbox, note_death
from heliostat.embedded.node.network.holder import find_holder


async def end_all_pods(directory: Path) -> int:
    """Every sandbox beneath it, and the network they hung on; how many there were. Their files stay."""
    pods = directory / "pods"
    places = sorted(pods.iterdir()) if pods.exists() else []
    ended = 0
    for place in places:
        sandbox = await find_sandbox(place)
        if sandbox is not None:
            await sandbox.stop()
            await sandbox.close()
            ended += 1
        remove_temporary(place)
    holder = find_holder(directory / "network")
    if holder is not None:
        await holder.stop()
        ended += 1
    await _end_groups(places)
    return ended


async def _end_groups(places: list[Path]) -> None:
    groups = find_cgroups()
    if groups is None:
        return
    for place in places:
        note_death(place)
        await remove_groups(groups, place.name)
    groups.leave()
