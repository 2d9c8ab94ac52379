"""Who weighs what: our own processes have a group of theirs, and Pods have another, whatever the kernel's version."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.local_machine import LocalMachine, local_machine, wait_for
from embedded.node.node_world import processes_named
from heliostat.embedded.node.isolating.cgroups import find_cgroups
from heliostat.local import own_group

SECOND_VERSION = ("cgroup.controllers", "cgroup.subtree_control")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[LocalMachine]:
    with local_machine(tmp_path / "state") as started:
        result = started.heliostat("up", "--ephemeral")
        assert result.returncode == 0, result.stderr
        yield started


def read_group(pid: int) -> str:
    """Of the controller of processors, in version 1 or 2."""
    found = re.search(r"^\d+:(?:|[\w,]*\bcpu\b[\w,]*):(.*)$", Path(f"/proc/{pid}/cgroup").read_text(), re.MULTILINE)
    return found[1] if found else ""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or find_cgroups() is None, reason="needs control groups that can be written")
def test_no_pod_is_weighed_with_the_control_plane(machine: LocalMachine) -> None:
    assert {read_group(child.pid) for child in machine.status().children} == {"/heliostat-control-plane"}
    seconds = f"10000.{os.getpid()}"
    machine.kubectl("run", "tiny", "--image=busybox", "--restart=Never", "--command", "--", "sleep", seconds)
    (program,) = wait_for(lambda: processes_named(f"sleep {seconds}"), 30)
    uid = machine.kubectl("get", "pod", "tiny", "-o", "jsonpath={.metadata.uid}")
    assert read_group(program) == f"/heliostat/{uid}-tiny-0"
    shim = int((machine.state.node / "pods" / uid / "shim.pid").read_text().split()[0])
    assert read_group(shim) == "/heliostat/shims"


def build_kernel(root: Path, *places: str) -> str:
    """Its files are there before anybody writes them."""
    for place in places:
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return str(root)


@pytest.mark.parametrize(
    ("places", "group", "weight"),
    [
        ((), "cpu", ("cpu.shares", "8192")),
        (("cgroup.controllers", "cgroup.subtree_control"), "", ("cpu.weight", "313")),
    ],
    ids=["version 1", "version 2"],
)
def test_our_own_processes_weigh_as_eight_processors(
    tmp_path: Path, places: tuple[str, ...], group: str, weight: tuple[str, str]
) -> None:
    place = Path(group, own_group.NAME)
    root = build_kernel(tmp_path, *places, f"{place}/{weight[0]}", f"{place}/cgroup.procs")
    own_group.join(root)
    assert (tmp_path / place / weight[0]).read_text() == weight[1]
    assert (tmp_path / place / "cgroup.procs").read_text() == "0"


@pytest.mark.parametrize("call", ["mkdir", "open"])
def test_another_one_that_comes_or_goes_at_the_same_moment_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """It made the group between our two looks, or removed it as its last one."""
    root = build_kernel(tmp_path, "cpu/tasks")
    real, once = getattr(os, call), iter([True])

    def meanwhile(path: str, *rest: int) -> object:
        if next(once, False):
            build_kernel(tmp_path, f"cpu/{own_group.NAME}/cpu.shares", f"cpu/{own_group.NAME}/cgroup.procs")
            raise FileExistsError(path) if call == "mkdir" else FileNotFoundError(path)
        return real(path, *rest)

    monkeypatch.setattr(os, call, meanwhile)
    own_group.join(root)
    assert (tmp_path / "cpu" / own_group.NAME / "cgroup.procs").read_text() == "0"


def test_where_groups_cannot_be_written_nothing_is_joined_and_nothing_fails(tmp_path: Path) -> None:
    own_group.join(str(tmp_path / "nothing"))
    own_group.join(build_kernel(tmp_path, "cgroup.controllers"))
    own_group.leave(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["cgroup.controllers"]


def test_the_group_goes_when_nobody_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "cpu" / own_group.NAME).mkdir(parents=True)
    own_group.leave(str(tmp_path))
    assert not (tmp_path / "cpu" / own_group.NAME).exists()
