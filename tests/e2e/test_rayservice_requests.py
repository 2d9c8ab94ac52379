"""Upgrades that no request notices: fifty requests each second, single answers and streams, while a service moves.

``make e2e`` has one upgrade of each kind; ``make soak`` five to a new cluster, three in steps and two that are taken
back, and all of that once more while the operator is killed every five seconds. HELIOSTAT_SOAK says so.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.clusters import needs_real_ray
from e2e.local_machine import LocalMachine, local_machine
from e2e.services import RealService, build_service
from e2e.steady_requests import asking, describe, list_failures, list_late

IS_LONG = bool(os.environ.get("HELIOSTAT_SOAK"))
pytestmark = needs_real_ray

UPGRADES = int(os.environ.get("HELIOSTAT_UPGRADES") or (5 if IS_LONG else 1))
KILL_EVERY_SECONDS = 5.0
MOVE_SECONDS = 600.0  # an operator that lives for five seconds at a time works for one or two of them
DELETION_DELAY_SECONDS = 5.0  # of the document
DRAIN_SECONDS = 10.0  # after which nobody gets an answer of the version before
QUIET_ANSWERS = 250  # with which the usual time of an answer is known
URL = "http://stand-serve-svc:8000"


@contextmanager
def killing(machine: LocalMachine, *, is_wanted: bool) -> Iterator[list[float]]:
    """The operator, every five seconds, until the end; when it was. One that is not there is not waited for."""
    killed: list[float] = []
    over = threading.Event()

    def kill_on() -> None:
        while not over.wait(KILL_EVERY_SECONDS):
            pid = next(each.pid for each in machine.status().children if each.name == "operator")
            with contextlib.suppress(ProcessLookupError):
                if pid:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(time.time())

    thread = threading.Thread(target=kill_on, name="killer")
    if is_wanted:
        thread.start()
    try:
        yield killed
    finally:
        over.set()
        if is_wanted:
            thread.join()


def move(service: RealService, version: str) -> tuple[float, float, float]:
    """To a cluster of this version: when that began, when requests had moved, and when the former cluster was gone."""
    begun, former = time.time(), service.active()
    service.apply(build_service(version))
    service.wait(lambda: service.active() not in ("", former), MOVE_SECONDS)
    moved = time.time()
    service.wait(lambda: former not in service.clusters(), MOVE_SECONDS)
    return begun, moved, time.time()


@pytest.mark.parametrize("is_killed", [False, *([True] if IS_LONG else [])], ids=lambda each: "killed" * each or "calm")
def test_no_request_fails_while_a_service_moves_to_new_clusters(
    tmp_path: Path, *, is_killed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        service = RealService(machine, build_service("0"))
        service.wait_until_ready()
        with asking(machine, URL) as asker, killing(machine, is_wanted=is_killed) as killed:
            asker.wait_for_answers(QUIET_ANSWERS)
            moves = [move(service, str(number)) for number in range(1, UPGRADES + 1)]
            answers = asker.finish()
        with capsys.disabled():
            told = describe(answers, [(begun, gone) for begun, _moved, gone in moves])
            print(  # noqa: T201  what somebody runs this for
                f"\n{UPGRADES} upgrades to a new cluster, operator killed {len(killed)} times: {told}"
            )
        assert list_failures(answers) == []
        for number, (_begun, moved, gone) in enumerate(moves):
            assert gone - moved > DELETION_DELAY_SECONDS - 2.0
            assert list_late(answers, str(number), moved + DRAIN_SECONDS) == []
