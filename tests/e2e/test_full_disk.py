"""A state directory whose disk is full: every command says so, nothing dies for good, and room mends everything."""

from pathlib import Path

import pytest

from e2e.local_machine import local_machine, needs_local_machine, wait_for
from local.small_disk import fill, small_disk

pytestmark = [*needs_local_machine, pytest.mark.e2e]

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late}\n"


def test_a_full_disk_is_told_by_every_command_and_survived(tmp_path: Path) -> None:
    document = tmp_path / "map.yaml"
    document.write_text(MAP)
    disk = tmp_path / "disk"
    with small_disk(disk, "24m"), local_machine(disk / "state") as machine:
        assert machine.heliostat("up").returncode == 0, machine.logs()
        big = fill(disk)
        refused = machine.heliostat("apply", "-f", str(document)).stderr
        assert "disk is full" in refused
        assert "Traceback" not in refused
        full = f"the disk of the state directory {disk / 'state'} is full: free some space there"
        told = wait_for(lambda: _unreachable(machine.heliostat("explain", "configmap/late").stderr), 30)
        assert full in told
        assert f"  ! {full}" in machine.heliostat("status").stdout
        big.unlink()
        wait_for(lambda: machine.heliostat("apply", "-f", str(document)).returncode == 0, 60)
        assert "is full" not in machine.heliostat("status").stdout


def _unreachable(told: str) -> str:
    """Empty while the server has not gone yet."""
    return told if "cannot be reached" in told else ""
