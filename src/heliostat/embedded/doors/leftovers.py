"""Pods that a former life left behind."""

from heliostat.embedded.node.ending import end_all_pods

__all__ = [
    "end_all_pods",
]
