"""Pods that are made but not ready: the sentence for each cause, so that "why is it pending?" has an answer."""

from collections import Counter
from collections.abc import Iterator

from heliostat.kube.plan import Wait
from heliostat.kube.pods import PodView, is_terminal, is_terminating, why_waiting
from heliostat.plan.because import Hold
from heliostat.plan.raycluster.pod_health import group_of


def tell_unready(pods: tuple[PodView, ...]) -> Iterator[Wait]:
    """One wait for each group and cause, with the first Pod's words."""
    count: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[PodView, str]] = {}
    for pod in pods:
        why = None if is_terminating(pod) or is_terminal(pod) else why_waiting(pod)
        if why is not None:
            key = group_of(pod), why[0]
            count[key] += 1
            first.setdefault(key, (pod, why[1]))
    for (group, reason), (pod, sentence) in first.items():
        others = count[group, reason] - 1
        who = f"Pod {pod.name}" + (f" and {others} more of group {group}" if others else "")
        yield Wait(Hold.POD_NOT_READY, f"{who}: {reason}: {sentence}", "it is ready")
