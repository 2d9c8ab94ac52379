"""What Pods write to disk, held against what they may: who writes more is evicted, as by kubelets.

Rules: only Pods with a limit are measured, beside the loop and every few seconds, so somebody may write more for a
moment; an eviction is a file of the Pod's, so it is carried on by a node that comes back. Volumes in memory are bounded
by the kernel.
"""

import asyncio
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from heliostat.embedded.node.pods import Container, NodePod
from heliostat.kube.plan import Event
from heliostat.kube.quantity import Quantity

PERIOD = 10.0  # seconds, as kubelets look
_EVICTED = "evicted"
_STORAGE = "ephemeral-storage"
_ENDED = ("Succeeded", "Failed")


def read_eviction(place: Path) -> str:
    """Why the Pod in this directory is evicted; empty: it is not."""
    try:
        return (place / _EVICTED).read_text()
    except OSError:
        return ""


def build_event(why: str) -> Event:
    return Event("Warning", "Evicted", "Evicting", why)


class StorageWatch:
    """``place_of`` gives the directory of a Pod by its UID; ``on_excess`` hears the UID of one that was evicted."""

    def __init__(
        self, pods: Iterable[NodePod], place_of: Callable[[str], Path], on_excess: Callable[[str, str], None]
    ) -> None:
        self._pods = pods
        self._place_of = place_of
        self._on_excess = on_excess

    async def run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD)
            await self.look()

    async def look(self) -> None:
        for pod in [pod for pod in self._pods if has_limits(pod) and pod.status.phase not in _ENDED]:
            place = self._place_of(pod.metadata.uid)
            why = await asyncio.to_thread(find_excess, pod, place)
            if why and place.exists() and not read_eviction(place):
                (place / _EVICTED).write_text(why)
                self._on_excess(pod.metadata.uid, why)


def has_limits(pod: NodePod) -> bool:
    return any(_limited_volumes(pod)) or any(_STORAGE in each.resources.limits for each in pod.spec.containers)


def find_excess(pod: NodePod, place: Path) -> str:
    """The first thing of which there is too much, in the kubelet's words."""
    for name, limit in _limited_volumes(pod):
        if measure(place / "volumes" / name) > Quantity.parse(limit).ceil():
            return f'Usage of EmptyDir volume "{name}" exceeds the limit "{limit}". '
    for container in pod.spec.containers:
        most = container.resources.limits.get(_STORAGE)
        if most is not None and _measure_container(pod, container, place) > Quantity.parse(most).ceil():
            return f'Container {container.name} exceeded its local ephemeral storage limit "{most}". '
    return ""


def _limited_volumes(pod: NodePod) -> Iterator[tuple[str, str]]:
    for volume in pod.spec.volumes:
        source = volume.get("emptyDir") or {}
        if source.get("sizeLimit") is not None and source.get("medium") != "Memory":
            yield volume["name"], str(source["sizeLimit"])


def _measure_container(pod: NodePod, container: Container, place: Path) -> int:
    """What its runs have written to their roots, and said."""
    run = re.compile(re.escape(f"{pod.metadata.uid}-{container.name}-") + r"\d+")
    runs = [each for each in _entries(place / "containers") if run.fullmatch(each.name)]
    return sum(measure(Path(each.path)) for each in runs) + measure(place / "logs" / container.name)


def measure(directory: Path) -> int:
    """Bytes on disk of all that lies beneath; links are not followed, and what goes meanwhile does not count."""
    total = 0
    todo = [str(directory)]
    while todo:
        for entry in _entries(todo.pop()):
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            total += found.st_blocks * 512
            if stat.S_ISDIR(found.st_mode):
                todo.append(entry.path)
    return total


def _entries(directory: str | Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []
