"""Memory is measured over a family of processes, and who uses too much is told of once."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from embedded.node.pod_shapes import UID, build_pod, container
from heliostat.embedded.node.isolating.memory_watch import MemoryWatch, find_limit, measure_memory
from heliostat.embedded.node.pods import NodePod

if TYPE_CHECKING:
    from heliostat.kube.plan import Event

_MEBI = 1024 * 1024
_HOLD = "x = bytearray(b'1') * 64_000_000; print('ready', flush=True); input()"


@pytest.fixture
def parent() -> Iterator[int]:
    """A shell whose child holds 64 MB."""
    command = ["/bin/sh", "-c", f'{sys.executable} -I -S -c "{_HOLD}"; true']
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        assert process.stdin is not None
        process.stdin.close()


def limited(*amounts: str | None) -> NodePod:
    resources = [{"limits": {"memory": amount}} if amount else {} for amount in amounts]
    return build_pod(*(container(f"c{number}", resources=each) for number, each in enumerate(resources)))


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [(("1Mi", "2Mi"), 3 * _MEBI), (("1Mi", None), 0), ((None,), 0)],
)
def test_a_pod_is_limited_when_all_its_containers_are(amounts: tuple[str | None, ...], expected: int) -> None:
    assert find_limit(limited(*amounts)) == expected


def test_children_count_and_those_that_are_gone_use_nothing(parent: int) -> None:
    assert 60_000_000 < measure_memory(parent) < 200_000_000
    assert measure_memory(2**30) == 0
    assert measure_memory(os.getpid()) > _MEBI


def test_a_pod_is_told_of_once_for_each_time_that_it_goes_too_far(parent: int) -> None:
    told: list[tuple[str, Event]] = []
    pods, pids = [limited("16Mi")], {UID: parent}
    watch = MemoryWatch(pods, pids.get, lambda uid, event: told.append((uid, event)))

    def look() -> int:
        asyncio.run(watch.look())
        return len(told)

    assert [look(), look()] == [1, 1]
    assert told[0][0] == UID
    assert "more than the 16 MiB of their limits; the control groups" in told[0][1].note
    del pids[UID]
    assert look() == 1
    pids[UID] = parent
    assert look() == 2
    pods[:] = [limited("512Mi")]
    assert look() == 2
