"""``python -m simulation sim|replay``: many seeds of every case, or one finding again.

sim    --seeds 2000 [--case NAME]      prints worlds per second and every finding, made small
replay --case NAME --seed N [--faults JSON]
"""

import argparse
import sys
import time
from collections.abc import Iterable
from functools import cache
from multiprocessing import Pool

from heliostat.testing.simulation.exploration import (
    FAULTY_SECONDS,
    Finding,
    crash_everywhere,
    judge,
    run_seed,
    run_undisturbed,
)
from heliostat.testing.simulation.faults import decode_injections
from heliostat.testing.simulation.script import Script
from heliostat.testing.simulation.world import Result
from simulation.cases import ALL_CASES, CASES, crashed_for

PARTS = 4  # of the crashes of one case, so that all processes have something to do


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    return _replay(options) if options.command == "replay" else _simulate(options)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simulation")
    commands = parser.add_subparsers(dest="command", required=True)
    sim = commands.add_parser("sim")
    sim.add_argument("--seeds", type=int, default=2000)
    sim.add_argument("--case", choices=sorted(CASES), action="append")
    sim.add_argument("--processes", type=int, default=2)
    replay = commands.add_parser("replay")
    replay.add_argument("--case", choices=sorted(ALL_CASES), required=True)
    replay.add_argument("--seed", type=int, required=True)
    replay.add_argument("--faults", default="")
    return parser.parse_args(arguments)


def _simulate(options: argparse.Namespace) -> int:
    found = 0
    with Pool(options.processes) as pool:
        for name in options.case or sorted(CASES):
            began = time.monotonic()
            tasks = [(each, part) for each in crashed_for(name) for part in range(PARTS)]
            crashes = sum(1 for _ in _tell(pool.imap_unordered(_crash, tasks)))
            seeds = list(
                _tell(pool.imap_unordered(_seed, [(name, seed) for seed in range(options.seeds)], chunksize=8))
            )
            found += crashes + len(seeds)
            spent = time.monotonic() - began
            print(f"{name}: a crash at every call: {crashes} findings")
            print(f"{name}: {options.seeds} seeds: {len(seeds)} findings, {spent:.0f} s in all")
    return 1 if found else 0


def _tell(findings: Iterable[list[Finding]]) -> Iterable[Finding]:
    for several in findings:
        for finding in several:
            print(finding, flush=True)
            yield finding


@cache
def _calm(name: str) -> Result:
    return run_undisturbed(CASES[name])


def _seed(task: tuple[str, int]) -> list[Finding]:
    name, seed = task
    finding = run_seed(CASES[name], seed, _calm(name))
    return [] if finding is None else [finding]


def _crash(task: tuple[str, int]) -> list[Finding]:
    name, part = task
    found = crash_everywhere(ALL_CASES[name], part=part, parts=PARTS)
    return [finding for _, finding in found if finding is not None]


def _replay(options: argparse.Namespace) -> int:
    case = ALL_CASES[options.case]
    calm = run_undisturbed(case, options.seed)
    if options.faults:
        script = Script(decode_injections(options.faults.encode()))
    else:
        script = Script(seed=options.seed, until=FAULTY_SECONDS)
    finding = judge(case, options.seed, script, calm)
    print("nothing is broken" if finding is None else finding)
    return 0 if finding is None else 1


if __name__ == "__main__":
    sys.exit(main())
