"""The simulator itself: determinism, shrinking, what a finding says, and that each fault does what it is called."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.runtime.transport import Call
from heliostat.testing.simulation.connection import Connection
from heliostat.testing.simulation.exploration import Case, Finding, judge, run_undisturbed, shrink
from heliostat.testing.simulation.faults import (
    Crash,
    Fault,
    Injection,
    Jump,
    LandLate,
    LoseReply,
    LoseRequest,
    Pause,
    Refuse,
    Reset,
    Slow,
    decode_injections,
    encode_injections,
)
from heliostat.testing.simulation.script import Script
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Result, World, run_world
from simulation.cases import CASES

pytestmark = pytest.mark.slow

MAPS = "/api/v1/namespaces/default/configmaps"
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_same_seed_gives_the_same_trace(name: str) -> None:
    case = CASES[name]
    first, second = (
        run_world(case.scenario, seed=11, script=Script(seed=11, until=90.0), invariants=case.invariants)
        for _ in range(2)
    )
    assert first.digest == second.digest
    assert len(first.trace) > 20


@pytest.mark.slow
def test_the_trace_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "from simulation.cases import CASES\n"
        "from heliostat.testing.simulation.script import Script\n"
        "from heliostat.testing.simulation.world import run_world\n"
        "for name, case in CASES.items():\n"
        "    runs = [run_world(case.scenario, seed=s, script=Script(seed=s, until=90.0)) for s in range(4)]\n"
        "    print(name, *(run.digest for run in runs))\n"
    )
    digests = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT / 'tests'}"},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.splitlines()
        for hash_seed in ("0", "1", "2")
    ]
    assert [line.split()[0] for line in digests[0]] == list(CASES)
    assert digests[0] == digests[1] == digests[2]


def config_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def run_one_write(*faults: Fault) -> tuple[Result, list[str]]:
    """A program that writes once, and what it heard; each of its calls meets the next fault."""
    heard: list[str] = []

    async def program(connection: Connection, life: int) -> None:
        body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'
        call = Call(method="POST", path=MAPS, body=body)
        try:
            reply = await connection.send(call, 5.0)
            heard.append(f"life {life}: {reply.status}")
        except (AmbiguousError, UnavailableError) as error:
            heard.append(f"life {life}: {type(error).__name__}")

    async def scenario(world: World) -> None:
        world.start("writer", program)
        await asyncio.sleep(30)

    script = Script(tuple(Injection("writer", number, fault) for number, fault in enumerate(faults)))
    return run_world(scenario, seed=1, script=script), heard


def is_there(result: Result) -> bool:
    return "configmaps/default/a" in result.state


@pytest.mark.parametrize(
    ("fault", "there", "heard"),
    [
        (LoseRequest(), False, ["life 0: AmbiguousError"]),
        (LoseReply(), True, ["life 0: AmbiguousError"]),
        (LandLate(0.5), True, ["life 0: AmbiguousError"]),
        (Refuse(503), False, ["life 0: 503"]),
        (Slow(1.0), True, ["life 0: 201"]),
        (Slow(6.0), False, ["life 0: AmbiguousError"]),
        (Slow(1.0, body=True), True, ["life 0: 201"]),
        (Slow(6.0, body=True), True, ["life 0: AmbiguousError"]),
        (Reset(carried_out=False), False, ["life 0: AmbiguousError"]),
        (Reset(carried_out=True), True, ["life 0: AmbiguousError"]),
        (Refuse(500, carried_out=True), True, ["life 0: 500"]),
        (Refuse(422, "no"), False, ["life 0: 422"]),
    ],
    ids=str,
)
def test_a_fault_does_what_it_is_called(fault: Fault, there: bool, heard: list[str]) -> None:
    result, told = run_one_write(fault)
    assert (is_there(result), told) == (there, heard)
    assert result.met == (Injection("writer", 0, fault),)


@pytest.mark.parametrize(
    ("when", "second"), [("before", "life 1: 201"), ("after", "life 1: 409"), ("late", "life 1: 409")]
)
def test_a_program_that_dies_lives_again(when: str, second: str) -> None:
    result, told = run_one_write(Crash(when, landing=0.5))
    assert is_there(result)
    assert told == [second]


def test_a_paused_program_goes_on_as_if_nothing_had_happened() -> None:
    """Its timers and answers wait for it, in their order; others do not stand still."""
    told: list[str] = []

    def note(what: str) -> None:
        told.append(f"{what} at {asyncio.get_running_loop().time():.0f}")

    async def program(connection: Connection, life: int) -> None:
        loop = asyncio.get_running_loop()
        for seconds in (3.0, 1.0, 2.0):
            loop.call_later(seconds, note, f"timer {seconds:g}")
        loop.call_later(2.5, note, "never").cancel()
        reply = await connection.send(Call(method="GET", path=MAPS), 60.0)
        note(str(reply.status))

    async def scenario(world: World) -> None:
        world.start("sleeper", program)
        await asyncio.sleep(5.0)
        note("somebody else")
        await asyncio.sleep(30.0)

    run_world(scenario, seed=1, script=Script((Injection("sleeper", 0, Pause(20.0)),)))
    assert told == ["somebody else at 5", "200 at 20", "timer 1 at 20", "timer 2 at 20", "timer 3 at 20"]


def test_a_clock_is_wrong_for_a_while() -> None:
    told: list[float] = []

    async def program(connection: Connection, life: int) -> None:
        await connection.send(Call(method="GET", path=MAPS), 5.0)

    async def scenario(world: World) -> None:
        world.start("dreamer", program)
        for _ in range(2):
            await asyncio.sleep(5.0)
            told.append(world.clock_of("dreamer")() - world.now())

    run_world(scenario, seed=1, script=Script((Injection("dreamer", 0, Jump(-3600.0, 7.0)),)))
    assert told == [-3600.0, 0.0]


def broken_by_two(state: State) -> str | None:
    names = {tree["metadata"]["name"] for tree in state.all("configmaps")}
    return "both are there" if {"b", "d"} <= names else None


async def four_writes(world: World) -> None:
    """Each fault of the right kind lets one write through that otherwise stays away."""

    async def program(connection: Connection, life: int) -> None:
        for name in "abcd":
            call = Call(method="GET", path=MAPS)
            reply = await connection.send(call, 5.0)
            if reply.status != 200:
                await world.request("POST", MAPS, config_map(name))

    world.start("reader", program)
    await asyncio.sleep(60)


TWO = Case(name="two", scenario=four_writes, invariants=(broken_by_two,), program="reader")


def test_a_finding_is_made_as_small_as_it_can_be() -> None:
    calm = run_undisturbed(TWO)
    everything = tuple(Injection("reader", number, Refuse(500)) for number in range(4))
    found = judge(TWO, 0, Script(everything), calm)
    assert found is not None
    small = shrink(TWO, found, calm)
    assert [injection.call for injection in small.faults] == [1, 3]


def test_a_finding_says_how_to_see_it_again() -> None:
    faults = (Injection("reader", 1, Refuse(500)),)
    finding = Finding(case="two", seed=7, faults=faults, violation="it broke", trace=("a line",))
    text = str(finding)
    assert "make replay CASE=two SEED=7" in text
    assert "a line" in text
    assert decode_injections(encode_injections(faults)) == faults


def test_a_world_that_never_gets_there_is_a_finding() -> None:
    async def scenario(world: World) -> None:
        await world.until("a miracle happens", lambda: False, seconds=10)

    assert run_world(scenario, seed=0).violation == "after 10 s it is still not so: a miracle happens"


def test_a_program_that_breaks_is_a_finding() -> None:
    async def program(connection: Connection, life: int) -> None:
        raise ZeroDivisionError

    async def scenario(world: World) -> None:
        world.start("broken", program)
        await asyncio.sleep(10)

    violation = run_world(scenario, seed=0).violation
    assert violation is not None
    assert "ZeroDivisionError" in violation
