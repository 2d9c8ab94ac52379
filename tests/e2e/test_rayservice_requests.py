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
from e2e.services import RealService, Tree, build_service
from e2e.steady_requests import asking, describe, list_failures, list_late
from e2e.stepping import GATEWAY_URL, build_stepping, has_route, read_share

IS_LONG = bool(os.environ.get("HELIOSTAT_SOAK"))
pytestmark = needs_real_ray

STEPS = 3 if IS_LONG else 1
UNWANTED = ("a-mistake", "another")[: 2 if IS_LONG else 1]  # the versions that are taken back on their way
UPGRADES = int(os.environ.get("HELIOSTAT_UPGRADES") or (5 if IS_LONG else 1))
KILL_EVERY_SECONDS = 5.0
LONG_INTERVAL = 60  # seconds; of an upgrade that is to be taken back on its way
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


def move(service: RealService, document: Tree) -> tuple[float, float, float]:
    """To a cluster of this spec: when that began, when requests had moved, and when the former cluster was gone."""
    begun, former = time.time(), service.active()
    service.apply(document)
    service.wait(lambda: service.active() not in ("", former), MOVE_SECONDS)
    moved = time.time()
    service.wait(lambda: former not in service.clusters(), MOVE_SECONDS)
    return begun, moved, time.time()


def go_back(service: RealService, here: Tree, there: Tree) -> tuple[float, float]:
    """Half the way there, and back to where it was: when that began, and when it was over."""
    begun, former = time.time(), service.active()
    service.apply(there)
    service.wait(lambda: read_share(service) >= 25, MOVE_SECONDS)
    service.apply(here)
    service.wait(lambda: service.clusters() == [former] and not service.pending(), MOVE_SECONDS)
    service.wait(lambda: service.condition("RollbackInProgress")[0] != "True")
    assert service.active() == former
    return begun, time.time()


OPERATORS = pytest.mark.parametrize(
    "is_killed", [False, *([True] if IS_LONG else [])], ids=lambda each: "killed" * each or "calm"
)


@OPERATORS
def test_no_request_fails_while_a_service_moves_to_new_clusters(
    tmp_path: Path, *, is_killed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        service = RealService(machine, build_service("0"))
        service.wait_until_ready()
        with asking(machine, URL) as asker, killing(machine, is_wanted=is_killed) as killed:
            asker.wait_for_answers(QUIET_ANSWERS)
            moves = [move(service, build_service(str(number))) for number in range(1, UPGRADES + 1)]
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


@OPERATORS
def test_no_request_fails_while_a_service_moves_in_steps_and_goes_back(
    tmp_path: Path, *, is_killed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the gateway, on connections that are kept: it is the gateway that lets them go in time."""
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        service = RealService(machine, build_stepping("0"))
        service.wait_until_ready()
        service.wait(lambda: has_route(service))
        with asking(machine, GATEWAY_URL, is_kept=True) as asker, killing(machine, is_wanted=is_killed) as killed:
            asker.wait_for_answers(QUIET_ANSWERS)
            moves = [move(service, build_stepping(str(number))) for number in range(1, STEPS + 1)]
            here = build_stepping(str(STEPS))
            back = [go_back(service, here, build_stepping(each, LONG_INTERVAL)) for each in UNWANTED]
            answers = asker.finish()
        with capsys.disabled():
            told = describe(answers, [*((begun, gone) for begun, _moved, gone in moves), *back])
            print(  # noqa: T201  what somebody runs this for
                f"\n{STEPS} upgrades in steps, {len(UNWANTED)} taken back, operator killed {len(killed)} times: {told}"
            )
        assert list_failures(answers) == []
        for number, (_begun, moved, _gone) in enumerate(moves):
            assert list_late(answers, str(number), moved + DRAIN_SECONDS) == []
        for version, (_begun, over) in zip(UNWANTED, back, strict=True):
            assert list_late(answers, version, over + DRAIN_SECONDS) == []
            assert list_late(answers, version, 0.0), "some requests did go there"
