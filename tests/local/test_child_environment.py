"""A process that follows another waits until the last writes of that one have landed, and no longer."""

import math
import os
import time

import pytest

from heliostat.local.child_environment import read_earlier_life, tell_earlier_life
from heliostat.local.children import Child
from heliostat.runtime.process import ProcessSettings, seconds_until_landed


def test_what_is_told_is_read_and_what_is_not_told_is_unknown() -> None:
    assert read_earlier_life(tell_earlier_life(12.5)) == 12.5
    assert read_earlier_life(tell_earlier_life(None)) == -math.inf
    assert read_earlier_life({}) is None


@pytest.mark.parametrize(("ended", "seconds"), [(None, 4.0), (-math.inf, 0.0), (99.0, 3.0), (90.0, 0.0)])
def test_the_time_since_the_end_counts(ended: float | None, seconds: float) -> None:
    assert seconds_until_landed(ProcessSettings(earlier_ended=ended), 100.0) == seconds


def test_a_child_that_comes_back_knows_when_it_ended(tmp_path: object) -> None:
    child = Child("one", ["/bin/sh", "-c", "echo $HELIOSTAT_EARLIER_LIFE"], f"{tmp_path}/log")
    before, told = time.monotonic(), []
    for _life in range(2):
        reader, writer = os.pipe()
        child.start(writer)
        os.close(writer)
        with os.fdopen(reader) as words:
            told.append(float(words.read()))
        _pid, status = os.waitpid(child.pid, 0)
        child.note_end(os.waitstatus_to_exitcode(status))
    assert told[0] == -math.inf
    assert before <= told[1] <= time.monotonic()
