"""Limits as the kernel is told them, and control groups of both versions in a directory that looks like theirs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from embedded.node.pod_shapes import build_pod, container
from heliostat.embedded.node.isolating.cgroups import FirstCgroups, SecondCgroups, find_cgroups, remove_groups
from heliostat.embedded.node.isolating.limits import (
    Limits,
    build_first_settings,
    build_limits,
    build_limits_of_all,
    build_second_settings,
)
from heliostat.testing.virtual_time import run_virtual


def limits(*, is_strict: bool = False, **resources: Any) -> Limits:
    it = build_pod(container(resources=resources)).spec.containers[0]
    found = build_limits(it, is_strict=is_strict)
    assert found.processes == 16384
    return replace(found, processes=0)


@pytest.mark.parametrize(
    ("resources", "is_strict", "expected"),
    [
        ({}, True, Limits(cpu_shares=102)),
        ({"limits": {"memory": "1Mi"}}, False, Limits(memory=1048576, cpu_shares=102)),
        ({"limits": {"cpu": "500m"}}, False, Limits(cpu_shares=512)),
        ({"limits": {"cpu": "500m"}}, True, Limits(cpu=0.5, cpu_shares=512)),
        ({"limits": {"cpu": 2}, "requests": {"cpu": "1"}}, True, Limits(cpu=2.0, cpu_shares=1024)),
        ({"requests": {"cpu": "1m", "memory": "1Gi"}}, True, Limits(cpu_shares=2)),
        ({"requests": {"cpu": "1000"}}, True, Limits(cpu_shares=262144)),
    ],
)
def test_what_a_container_may_use(resources: dict[str, Any], is_strict: bool, expected: Limits) -> None:
    assert limits(is_strict=is_strict, **resources) == expected


def test_the_settings_of_both_versions() -> None:
    some = Limits(memory=64, cpu=0.5, cpu_shares=512, processes=9)
    assert build_first_settings(some) == {
        "memory": {"memory.limit_in_bytes": "64", "memory.swappiness": "0"},
        "cpu": {"cpu.shares": "512", "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"},
        "pids": {"pids.max": "9"},
    }
    assert build_second_settings(some) == {
        "memory.max": "64",
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cpu.weight": "20",
        "cpu.max": "50000 100000",
        "pids.max": "9",
    }
    assert build_first_settings(Limits()) == {}
    assert build_second_settings(Limits()) == {}


@given(st.integers(2, 262144), st.integers(2, 262144))
def test_a_larger_share_is_never_a_smaller_weight_and_all_are_in_range(one: int, other: int) -> None:
    first, second = (int(build_second_settings(Limits(cpu_shares=each))["cpu.weight"]) for each in (one, other))
    assert 1 <= first <= 10000
    assert (one <= other) <= (first <= second)


@pytest.fixture
def first(tmp_path: Path) -> Path:
    for controller in ("memory", "cpu"):
        (tmp_path / controller).mkdir()
    return tmp_path


@pytest.fixture
def second(tmp_path: Path) -> Path:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    return tmp_path


def test_all_pods_together_weigh_as_much_as_the_machine_has(first: Path) -> None:
    groups = find_cgroups(first, build_limits_of_all(2))
    assert groups is not None
    groups.make("run", Limits(cpu_shares=512))
    assert (first / "cpu/heliostat/cpu.shares").read_text() == "2048"
    assert (first / "cpu/heliostat/run/cpu.shares").read_text() == "512"


def test_all_pods_together_have_their_weight_in_version_2(second: Path) -> None:
    groups = find_cgroups(second, build_limits_of_all(2))
    assert groups is not None
    groups.make("run", Limits(memory=64))
    assert (second / "heliostat/cpu.weight").read_text() == "79"


@pytest.mark.parametrize(("version", "place"), [("first", "cpu/heliostat"), ("second", "heliostat")])
def test_shims_have_a_group_beside_those_of_containers_that_goes_with_the_last(
    version: str, place: str, request: pytest.FixtureRequest
) -> None:
    root: Path = request.getfixturevalue(version)
    groups = find_cgroups(root)
    assert groups is not None
    assert groups.make_for_shims() == (f"{root}/{place}/shims/cgroup.procs",)
    groups.leave()
    assert not (root / place / "shims").exists()


@pytest.mark.parametrize("version", ["first", "second"])
def test_the_groups_of_a_pod_are_found_by_its_uid(version: str, request: pytest.FixtureRequest) -> None:
    groups = find_cgroups(request.getfixturevalue(version))
    assert groups is not None
    for id_ in ("uid-1-c-0", "uid-1-d-0", "uid-12-c-0"):
        groups.make(id_, Limits(memory=64, cpu_shares=2))
    assert groups.list_of("uid-1") == ["uid-1-c-0", "uid-1-d-0"]
    assert groups.list_of("nobody") == []


def test_where_the_kernel_hands_no_weights_down_there_are_none(second: Path) -> None:
    assert not SecondCgroups(second, Limits()).keeps_weights
    assert SecondCgroups(second, Limits(cpu_shares=2)).keeps_weights


def test_version_1_has_a_group_for_each_controller_that_limits_something(first: Path) -> None:
    groups = find_cgroups(first)
    assert isinstance(groups, FirstCgroups)
    group = groups.make("run", Limits(memory=64))
    assert group.members == (f"{first}/memory/heliostat/run/cgroup.procs",)
    assert [(mount.source, mount.target) for mount in group.mounts] == [
        (f"{first}/memory/heliostat/run", f"{first}/memory")
    ]
    assert (first / "memory/heliostat/run/memory.limit_in_bytes").read_text() == "64"
    assert not (first / "cpu/heliostat/run").exists()


def test_version_2_has_one_group_and_hands_its_controllers_down(second: Path) -> None:
    groups = find_cgroups(second)
    assert isinstance(groups, SecondCgroups)
    group = groups.make("run", Limits(memory=64, cpu_shares=1024))
    assert group.members == (f"{second}/heliostat/run/cgroup.procs",)
    assert (second / "heliostat/cgroup.subtree_control").exists()
    assert (second / "heliostat/run/memory.max").read_text() == "64"


@pytest.mark.parametrize(
    ("text", "expected"), [("oom 3\noom_kill 1\n", True), ("oom 3\noom_kill 0\n", False), ("", False)]
)
def test_a_kill_for_memory_is_counted_by_the_kernel(second: Path, text: str, expected: bool) -> None:
    groups = SecondCgroups(second, Limits())
    groups.make("run", Limits(memory=64))
    (second / "heliostat/run/memory.events").write_text(text)
    assert groups.was_killed_for_memory("run") is expected
    assert groups.was_killed_for_memory("other") is False


def test_where_nothing_can_be_written_there_are_no_groups(tmp_path: Path) -> None:
    assert find_cgroups(tmp_path) is None
    (tmp_path / "memory").write_text("not a directory")
    assert find_cgroups(tmp_path) is None


def test_a_group_that_is_not_there_is_gone_and_one_in_use_is_not(first: Path) -> None:
    groups = FirstCgroups(first, Limits())
    assert groups.remove("run")
    groups.make("run", Limits(memory=64))  # its files stand for processes here: no directory with files goes
    assert not groups.remove("run")
    groups.leave()
    assert (first / "memory/heliostat/run").exists()


class Reluctant(FirstCgroups):
    """Its processes are dead, and for a while nobody has looked at them."""

    def __init__(self, root: Path, until: float) -> None:
        super().__init__(root, Limits())
        self._until = until

    def remove(self, id_: str) -> bool:
        return asyncio.get_running_loop().time() > self._until and super().remove(id_)


def test_groups_of_processes_that_nobody_has_seen_dead_yet_are_waited_for(first: Path) -> None:
    groups = Reluctant(first, until=10.0)
    place = first / "memory/heliostat/uid-1-c-0"
    place.mkdir(parents=True)
    run_virtual(remove_groups(groups, "uid-1"))
    assert not place.exists()


def test_a_group_that_never_empties_is_left_in_the_end(first: Path) -> None:
    groups = Reluctant(first, until=1000.0)
    place = first / "memory/heliostat/uid-1-c-0"
    place.mkdir(parents=True)
    run_virtual(remove_groups(groups, "uid-1"))
    assert place.exists()
