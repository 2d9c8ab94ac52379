"""Pods that run another version than their image says: they may well work, so it is a note and no reason of theirs."""

from collections.abc import Iterable, Iterator

from heliostat.explain.explanation import Sentence
from heliostat.kube.image_versions import find_version_differences
from heliostat.kube.pods import PodView

_FIX = "heliostat down, then heliostat up --exact-images; or name the version that is there in the image and the spec"


def tell_versions(pods: Iterable[PodView]) -> Iterator[Sentence]:
    for message, found in find_version_differences(pods).items():
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        verb = "run" if others else "runs"
        why = message.partition("; ")[0]  # what follows is the fix
        yield Sentence(f"Pod {found[0].name}{others} {verb} another version than the image says", why, _FIX)
