"""Pods built per second on one core, from decoded specs.

Two figures, because both happen: a whole template built anew for each Pod (a fresh cluster), and Pods stamped from
a template that is there (scaling up). The yardstick, measured in the same run, is copy.deepcopy of one finished
Pod: what a builder that only copied would cost.
"""

import copy
import sys
import time
from collections.abc import Callable
from pathlib import Path

from heliostat.api.documents import Accepted, accept
from heliostat.api.raycluster import RayCluster
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.cluster import build_desired
from heliostat.desired.raycluster.pods import stamp_worker
from heliostat.kube.documents import read_documents

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "raycluster-autoscaler.yaml"
SECONDS = 2.0
BAR = 5_000


def per_second(build: Callable[[int], int]) -> float:
    """``build(i)`` returns how many Pods it made; the best of three rounds, because the machine is noisy."""
    best = 0.0
    for _ in range(3):
        made, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < SECONDS / 3:
            made += build(made)
        best = max(best, made / elapsed)
    return best


def main() -> int:
    answer = accept(read_documents(EXAMPLE.read_bytes(), EXAMPLE.name)[0].tree)
    assert isinstance(answer, Accepted)
    cluster, settings = answer.object, Settings()
    assert isinstance(cluster, RayCluster)
    desired = build_desired(cluster, settings)
    group = desired.groups[0]
    pod = stamp_worker(group, "abcde", 0)

    def copy_pod(_i: int) -> int:
        copy.deepcopy(pod)
        return 1

    def build_cluster(_i: int) -> int:
        return 1 + len(build_desired(cluster, settings).groups)  # one Pod for the head and for each group

    def stamp(i: int) -> int:
        stamp_worker(group, "abcde", i)
        return 1

    yardstick = per_second(copy_pod)
    print(f"copy.deepcopy of a finished Pod  {yardstick:>10,.0f}/s  1.0x")
    failed = False
    for title, build in (("template built for every Pod", build_cluster), ("stamped from a template", stamp)):
        rate = per_second(build)
        failed |= rate < BAR
        print(f"{title:<32} {rate:>10,.0f}/s  {rate / yardstick:.1f}x  (bar {BAR:,}/s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
