"""Whether a disk is full is seen before it is felt."""

import os
from pathlib import Path

import pytest

from heliostat.local.disk import find_disk_problem
from local.small_disk import fill, small_disk


def test_a_disk_with_room_or_that_is_not_there_is_no_problem(tmp_path: Path) -> None:
    assert find_disk_problem(tmp_path) == ""
    assert find_disk_problem(tmp_path / "absent") == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk_is_named_with_the_way_out(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m"):
        assert find_disk_problem(tmp_path / "disk") == ""
        fill(tmp_path / "disk")
        problem = find_disk_problem(tmp_path / "disk")
    assert problem.startswith(f"the disk of the state directory {tmp_path / 'disk'} is full: free some space")
