"""The cost of a write among 1,000 and among 50,000 objects of 2 kB, over HTTPS, with everything synced to disk.

Two of our servers run side by side and are written to in turns, so both meet the same machine. Each turn creates new
objects and deletes them again, so the numbers stay. The bar: as good as flat.
"""

import argparse
import statistics
import sys
from contextlib import ExitStack
from shutil import which

from msgspec import Struct

from load.client import Load, built
from load.targets import MAPS, Target, ours

FEW, MANY = 1_000, 50_000
WRITERS, TURNS, WRITES = 16, 10, 400
BAR = 1.25


class Costs(Struct):
    """Of one server: seconds per write as its clients saw it, and of its processor."""

    seen: list[float] = []
    processor: list[float] = []

    def add(self, load: Load, target: Target, mode: str, first: int) -> None:
        before = target.processor_seconds()
        self.seen.append(load.run(target, mode, MAPS, first, WRITES, WRITERS)["seconds"] / WRITES)
        self.processor.append((target.processor_seconds() - before) / WRITES)


def measure(load: Load, targets: dict[int, Target]) -> dict[str, dict[int, Costs]]:
    costs = {mode: {size: Costs([], []) for size in targets} for mode in ("write", "delete")}
    for turn in range(TURNS):
        for mode, by_size in costs.items():
            for size, target in targets.items():
                by_size[size].add(load, target, mode, 100_000 + turn * WRITES)
    return costs


def report(mode: str, by_size: dict[int, Costs]) -> float:
    few, many = (statistics.median(by_size[size].processor) for size in (FEW, MANY))
    seen = [statistics.median(by_size[size].seen) for size in (FEW, MANY)]
    ratio = many / few
    print(
        f"a {'create' if mode == 'write' else mode:<6} among {FEW:,}: {few * 1e6:,.0f} us of the processor, among"
        f" {MANY:,}: {many * 1e6:,.0f} us, {ratio:.2f}x; seen by {WRITERS} writers {1 / seen[0]:,.0f}/s and"
        f" {1 / seen[1]:,.0f}/s, {seen[1] / seen[0]:.2f}x"
    )
    return ratio


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    if which("go") is None:
        print("Go is not installed: nothing measured")
        return 0
    with ExitStack() as stack:
        load = stack.enter_context(built())
        targets = {size: stack.enter_context(ours()) for size in (FEW, MANY)}
        for size, target in targets.items():
            load.run(target, "write", MAPS, 0, size, WRITERS)
            print(f"{size:,} objects: {target.memory_mb():,.0f} MB", flush=True)
        costs = measure(load, targets)
    ratios = [report(mode, by_size) for mode, by_size in costs.items()]
    return 0 if max(ratios) <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
