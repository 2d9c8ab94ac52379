"""New Pods' names: never used before, and the same whenever the same view is planned from again.

A suffix is five characters of a hash over the cluster's UID, the group, the index, the position, and the versions of
what is in view: the RayCluster's own and the newest of its Pods'. A repeated create therefore collides harmlessly,
while a Pod that replaces another gets another name even when every other Pod stayed as it was: the autoscaler knows
nodes by Pod name, and a name in ``workersToDelete`` is answered for as long as it stands there. Pods that came and went
can leave the view exactly as it was before them; so it also counts how often Pods were moved under this version, and,
as that is forgotten with the process, how new the view was when the process first met the RayCluster.

A name whose create was never answered comes first: should that create still land, however late, the new one collides
with it instead of standing beside it.
"""

from collections.abc import Iterable
from itertools import count

from heliostat.api.raycluster import RayCluster
from heliostat.kube.pods import PodView
from heliostat.kube.suffixes import SUFFIX_LENGTH, derive_suffix


class PodNames:
    """Hands out suffixes for one plan. It remembers what it gave, so that no two Pods of a plan share a name."""

    def __init__(
        self,
        cluster: RayCluster,
        pods: Iterable[PodView],
        not_to_use: Iterable[str],
        unanswered: Iterable[str] = (),
        past: tuple[int, int] = (0, 0),
    ) -> None:
        """``past``: when this process first met the RayCluster, and how often it has moved Pods since."""
        pods = tuple(pods)
        newest = max((pod.resource_version for pod in pods), key=_age, default="")
        earlier = tuple(map(str, past)) if any(past) else ()
        self._view = (cluster.metadata.uid, cluster.metadata.resource_version, newest, *earlier)
        self._taken = {pod.name for pod in pods} | set(not_to_use)
        self._unanswered = sorted(unanswered)

    def suffix_again(self, prefix: str, group: str, index: int, position: int) -> str:
        """One whose create may still be on its way, else a new one."""
        for name in self._unanswered:
            suffix = name.removeprefix(prefix)
            if name not in self._taken and len(suffix) == SUFFIX_LENGTH and name.startswith(prefix):
                self._taken.add(name)
                return suffix
        return self.suffix(prefix, group, index, position)

    def suffix(self, prefix: str, group: str, index: int, position: int) -> str:
        """A suffix that makes ``prefix`` plus it a name that is neither in view nor asked away nor given already."""
        for attempt in count():
            suffix = derive_suffix(*self._view, group, str(index), str(position), str(attempt))
            if prefix + suffix not in self._taken:
                break
        self._taken.add(prefix + suffix)
        return suffix


def _age(resource_version: str) -> tuple[int, str]:
    """Orders resource versions where they are numbers, and is still an order where they are not."""
    return len(resource_version), resource_version
