"""The condition by which our node says that a Pod runs another version than the tag of its image. Pure."""

from collections.abc import Iterable

from heliostat.kube.pods import PodView, condition

VERSION_MATCHES = "heliostat.dev/ImageVersionMatches"


def find_version_differences(pods: Iterable[PodView]) -> dict[str, list[PodView]]:
    """The Pods that tell the same, by what they tell."""
    found: dict[str, list[PodView]] = {}
    for pod in pods:
        told = condition(pod, VERSION_MATCHES)
        if told is not None and told.status == "False":
            found.setdefault(told.message, []).append(pod)
    return found
