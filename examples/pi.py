"""Estimates pi with all nodes of a Ray cluster, and says who took part.

heliostat run examples/raycluster.yaml --working-dir examples -- python pi.py
"""

import random
import socket

import ray

SAMPLES = 200_000
TASKS = 8


@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def count_hits(seed: int) -> tuple[str, int]:
    """How many of the random points lie in the circle, and where this was found out."""
    chance = random.Random(seed)
    hits = sum(chance.random() ** 2 + chance.random() ** 2 <= 1 for _ in range(SAMPLES))
    return socket.gethostname(), hits


def main() -> None:
    ray.init()
    results = ray.get([count_hits.remote(seed) for seed in range(TASKS)])
    hits = sum(hits for _, hits in results)
    print(f"pi is about {4 * hits / (SAMPLES * TASKS):.4f}")
    for host in sorted({host for host, _ in results}):
        print(f"{sum(name == host for name, _ in results)} of {TASKS} tasks ran in Pod {host}")


if __name__ == "__main__":
    main()
