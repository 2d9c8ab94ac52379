"""``heliostat run`` while our processes are killed at random: work continues, and nothing is lost or done twice.

Two rounds, or twenty with HELIOSTAT_SOAK, two to a run; in a round one process, or all at once, are killed with -9 at
some moment of the run. HELIOSTAT_SEED plays the rounds of a seed again, which every failure tells.
"""

import json
import os
import random
import subprocess  # noqa: TC003
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from e2e.local_machine import EXAMPLES, LocalMachine, local_machine, needs_local_machine, wait_for

pytestmark = needs_local_machine

RUNS = 10 if os.environ.get("HELIOSTAT_SOAK") else 1
SEED = int(os.environ.get("HELIOSTAT_SEED") or time.time_ns() % 1_000_000)
CLUSTER = str(EXAMPLES / "raycluster.yaml")
OURS = ("control-plane", "operator", "node")
VICTIMS = (*((name,) for name in OURS), OURS)
MOMENTS = ("RayCluster hello created", "begun", "the end")  # seen: it starts, it works, it is taken down
LATEST_SECONDS = 3.0
PROGRAM = """
import ray, time
ray.init()
print("begun", flush=True)
ray.get([ray.remote(lambda: time.sleep(0.3)).remote() for _ in range(12)])
print("the end", flush=True)
"""


class Attack(Struct, frozen=True):
    victims: tuple[str, ...]
    moment: str
    seconds_later: float


def plan_attacks(seed: int, runs: int) -> list[tuple[Attack, ...]]:
    """Two for each run, in the order in which their moments come; the first of all is against everything."""
    chance = random.Random(seed)  # noqa: S311  the same rounds for the same seed
    drawn = [
        Attack(chance.choice(VICTIMS) if number else OURS, chance.choice(MOMENTS), chance.uniform(0.0, LATEST_SECONDS))
        for number in range(2 * runs)
    ]
    pairs = [drawn[number : number + 2] for number in range(0, len(drawn), 2)]
    return [tuple(sorted(pair, key=lambda attack: MOMENTS.index(attack.moment))) for pair in pairs]


class Words:
    """What a run says, line by line as it comes."""

    def __init__(self, running: "subprocess.Popen[str]") -> None:
        assert running.stdout is not None
        self._running = running
        self._words = running.stdout
        self._lines: list[str] = []
        self._reading = threading.Thread(target=self._read, name="words")
        self._reading.start()

    def _read(self) -> None:
        for line in self._words:
            self._lines.append(line.rstrip("\n"))

    def have(self, text: str) -> bool:
        return any(text in line for line in self._lines) or self._running.poll() is not None

    def until_end(self, seconds: float) -> list[str]:
        """All of them."""
        try:
            self._running.wait(seconds)
        finally:
            self._running.kill()
            self._reading.join()
            self._words.close()
        return self._lines


def test_work_continues_while_our_processes_die(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.mkdir()
    (program / "slow.py").write_text(PROGRAM)
    with local_machine(tmp_path / "state") as machine:
        started = machine.heliostat("up")
        assert started.returncode == 0, started.stderr
        for number, attacks in enumerate(plan_attacks(SEED, RUNS)):
            told = f"HELIOSTAT_SEED={SEED}, run {number}: {attacks}"
            sys.stdout.write(f"{told}\n")
            running = machine.start("run", CLUSTER, f"--working-dir={program}", "--", "python", "slow.py")
            words = Words(running)
            for attack in attacks:
                _carry_out(machine, attack, words)
            lines = words.until_end(300)
            shown = "\n".join((told, *lines))
            assert running.returncode == 0, shown + machine.logs()
            assert [lines.count(word) for word in ("begun", "the end")] == [1, 1], shown
            _check_remains(machine, number + 1, shown)


def _carry_out(machine: LocalMachine, attack: Attack, words: Words) -> None:
    wait_for(lambda: words.have(attack.moment), 240)
    threading.Event().wait(attack.seconds_later)
    machine.kill(*attack.victims)


def _check_remains(machine: LocalMachine, runs: int, shown: str) -> None:
    """Every run made one cluster of two Pods; all are gone, and all are remembered."""
    wait_for(lambda: len(_gone(machine, "rayclusters")) == runs, 60)
    for kind, count in (("rayclusters", runs), ("pods", 2 * runs)):
        found = _gone(machine, kind)
        assert len({tree["metadata"]["uid"] for tree in found}) == len(found) == count, shown + machine.logs()
    wait_for(lambda: not list((machine.state.node / "pods").iterdir()), 30)


def _gone(machine: LocalMachine, kind: str) -> list[dict[str, Any]]:
    """Those that are remembered."""
    result = machine.heliostat("get", kind, "--all", "-o", "json")
    trees: list[dict[str, Any]] = json.loads(result.stdout)["items"] if result.returncode == 0 else []
    return [tree for tree in trees if "heliostat.dev/gone-at" in (tree["metadata"].get("annotations") or {})]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_seed_plays_the_same_rounds_again(seed: int) -> None:
    assert plan_attacks(seed, 10) == plan_attacks(seed, 10)
    assert plan_attacks(seed, 10) != plan_attacks(seed + 1, 10)
