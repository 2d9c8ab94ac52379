"""Names of a Job's new Pods: ``job-xxxxx``, in an Indexed Job ``job-index-xxxxx``.

The suffix is derived from what is in view, so a repeated create collides harmlessly, and a Pod that takes the place of
another gets another name. A name that somebody else has is passed over.
"""

from collections.abc import Callable, Iterable
from itertools import count

from heliostat.kube.objects import Metadata, Object
from heliostat.kube.suffixes import derive_suffix

_LONGEST_PREFIX = 63 - 5  # as kube-apiserver cuts a generateName


class PodNames:
    """Hands out names for one plan, no name twice. ``departed`` is the newest version of Pods that are gone."""

    def __init__(
        self, job: Metadata, pods: Iterable[Object], departed: int = 0, is_taken: Callable[[str], bool] | None = None
    ) -> None:
        newest = max((pod.metadata.revision for pod in pods), default=0)
        self._facts = (job.uid, job.resource_version, str(max(newest, departed)))
        self._is_taken = is_taken
        self._given: set[str] = set()

    def name(self, prefix: str) -> str:
        for position in count(len(self._given)):
            name = prefix[:_LONGEST_PREFIX] + derive_suffix(*self._facts, str(position))
            if name not in self._given and not (self._is_taken is not None and self._is_taken(name)):
                break
        self._given.add(name)
        return name


def build_prefix(job_name: str, index: int | None = None) -> str:
    """What stands in ``generateName``; a long Job name is cut so that the index stays."""
    if index is None:
        return f"{job_name}-"
    ending = f"-{index}-"
    return job_name[: _LONGEST_PREFIX - len(ending)] + ending
