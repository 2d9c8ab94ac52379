"""Our server answers as the real kube-apiserver did when its answers were recorded, in process and over HTTPS."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import TypeAlias

import pytest

from conformance.catalogue import HANDWRITTEN
from conformance.known_differences import unexplained
from conformance.own import embedded_target, memory_target
from conformance.recording import Recording, digest_of, load_recordings
from conformance.suite import install_custom_kinds, record_all
from conformance.suites import BATCH, KEPT_COUNT, kept_suites
from conformance.targets import Target

pytestmark = pytest.mark.slow

Open: TypeAlias = Callable[[list[BaseException]], AbstractAsyncContextManager[Target]]
TARGETS: dict[str, Open] = {"memory": memory_target, "embedded": embedded_target}
SUITES = kept_suites()


@cache
def kept(suite: str) -> dict[str, Recording]:
    return load_recordings(suite)


@cache
def given(suite: str, target_name: str) -> tuple[dict[str, Recording], list[BaseException]]:
    """The whole suite on one server, once, however many tests look at it; and the bugs that the server met."""
    bugs: list[BaseException] = []

    async def run() -> dict[str, Recording]:
        async with TARGETS[target_name](bugs) as target:
            await install_custom_kinds(target)
            return await record_all(SUITES[suite], target, kept(suite))

    return asyncio.run(run()), bugs


def differences_of(suite: str, names: list[str], target_name: str) -> list[str]:
    (answers, _), expected = given(suite, target_name), kept(suite)
    chosen = [one for one in SUITES[suite] if one.name in names]
    return [str(one) for each in chosen for one in unexplained(each, expected[each.name], answers[each.name])]


@pytest.mark.parametrize("suite", SUITES)
def test_every_sequence_is_recorded_as_it_is_now(suite: str) -> None:
    recorded = {name: recording.digest for name, recording in kept(suite).items()}
    assert recorded == {one.name: digest_of(one) for one in SUITES[suite]}, "record them: make conformance-record"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("suite", SUITES)
def test_the_server_meets_no_bug(suite: str, target: str) -> None:
    assert not given(suite, target)[1]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", HANDWRITTEN)
def test_hand_written_sequence_is_answered_as_by_the_real_server(name: str, target: str) -> None:
    assert not differences_of("handwritten", [name], target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("start", range(0, KEPT_COUNT, BATCH))
def test_generated_sequences_are_answered_as_by_the_real_server(start: int, target: str) -> None:
    names = [one.name for one in SUITES["generated"][start : start + BATCH]]
    assert not differences_of("generated", names, target)
