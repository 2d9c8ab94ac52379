"""Watches of the embedded API server: 1,000 watchers of 20 events of 2 kB a second, over HTTPS.

Every watcher checks every event: none is missing, none out of order. Beside it, in the same run, 10 watchers of the
same server, and 1,000 of a real kube-apiserver when its binaries are there. ``cost`` is the server's processor time for
one event to one watcher; ``at full speed`` is how many it hands out when the writer does not pause.
"""

import argparse
import sys
from shutil import which
from typing import Any

from msgspec import Struct

from heliostat.cli.open_files import allow_many_open_files
from load.client import Load, built
from load.targets import MAPS, Target, ours, real

WATCHERS, FEW, RATE, SECONDS, AT_ONCE = 1_000, 10, 20, 10, 100


class Fanned(Struct, frozen=True):
    """What so many watchers got, and what it cost."""

    figures: dict[str, Any]
    rate: float  # events a second to each watcher, until the last one had the last one
    cost: float  # seconds of the server for one event to one watcher

    @property
    def is_complete(self) -> bool:
        return not self.figures["missing"] and not self.figures["disordered"]


def fan_out(load: Load, target: Target, watchers: int, events: int, rate: int) -> Fanned:
    before = target.processor_seconds()
    figures = load.run(target, "watch", MAPS, watchers, events, rate)
    cost = (target.processor_seconds() - before) / (watchers * events)
    target.call("DELETE", MAPS)
    return Fanned(figures, events / figures["seconds"], cost)


def measure(load: Load, target: Target) -> tuple[Fanned, Fanned, Fanned]:
    """Many watchers paced, few of them paced, and many as fast as it goes."""
    few = fan_out(load, target, FEW, RATE * SECONDS, RATE)
    many = fan_out(load, target, WATCHERS, RATE * SECONDS, RATE)
    full = fan_out(load, target, WATCHERS, AT_ONCE, 0)
    for name, fanned in ((f"{FEW:,} watchers", few), (f"{WATCHERS:,} watchers", many), ("at full speed", full)):
        print(describe(target.name, name, fanned), flush=True)
    return few, many, full


def describe(server: str, name: str, fanned: Fanned) -> str:
    got = fanned.figures
    delivered = got["delivered"] / got["seconds"]
    return (
        f"{server:<15} {name:<15} {fanned.rate:6.1f} events/s each, {delivered:>8,.0f}/s in all, missing"
        f" {got['missing']}, disordered {got['disordered']}, delay {got['delay_median'] * 1000:,.0f} ms (p99"
        f" {got['delay_p99'] * 1000:,.0f}), cost {fanned.cost * 1e6:.1f} us, client {got['client_cpu']:.1f} s"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alone", action="store_true", help="do not start the real kube-apiserver")
    options = parser.parse_args()
    if which("go") is None:
        print("Go is not installed: nothing measured")
        return 0
    allow_many_open_files()
    with built() as load:
        with ours() as target:
            few, many, full = measure(load, target)
        print(f"{WATCHERS:,} watchers get {many.rate / few.rate:.2f}x the events a second that {FEW} get")
        if not options.alone:
            compare(load, many, full)
    return 0 if many.is_complete and full.is_complete else 1


def compare(load: Load, many: Fanned, full: Fanned) -> None:
    try:
        with real() as target:
            _, other_many, other_full = measure(load, target)
    except Exception as error:  # noqa: BLE001 - whatever keeps the real one from running is told, not hidden
        print(f"no real kube-apiserver to compare with: {error}")
        return
    print(f"cost of an event to one watcher: {other_many.cost / many.cost:.2f}x less than kube-apiserver's")
    print(f"at full speed: {full.rate / other_full.rate:.2f}x kube-apiserver's")


if __name__ == "__main__":
    sys.exit(main())
