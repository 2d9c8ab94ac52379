"""Images, cron schedules, keys, ports: the texts that kinds are made of."""

import pytest

from heliostat.embedded.kinds.pods.images import pull_policy
from heliostat.embedded.kinds.rules.text_rules import (
    config_key_problems,
    environment_name_problems,
    host_problems,
    local_path_problems,
    port_name_problems,
)
from heliostat.embedded.kinds.workloads.cron_text import cron_problem


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"), ("a:latest", "Always"), ("a:v1", "IfNotPresent"), ("reg.io:5000/a/b", "Always"),
        ("reg.io:5000/a/b:2", "IfNotPresent"), ("a@sha256:" + "a" * 64, "IfNotPresent"), ("Abc", "IfNotPresent"),
        ("a:latest@sha256:" + "a" * 64, "Always"), ("", "IfNotPresent"), (" a", "IfNotPresent"),
        ("a" * 64, "IfNotPresent"),
        ("localhost/a", "Always"), ("a__b", "Always"), ("a___b", "IfNotPresent"),
    ],
)  # fmt: skip
def test_the_latest_image_is_always_pulled(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("* * * * *", ""), ("@daily", ""), ("@every 1h30m", ""), ("*/5 0-6,12 1 jan mon", ""),
        ("", "empty spec string"),
        ("x", "expected exactly 5 fields, found 1: [x]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("@foo", "unrecognized descriptor: @foo"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
    ],
)  # fmt: skip
def test_schedules_of_cron_jobs(schedule: str, problem: str) -> None:
    assert cron_problem(schedule) == problem


@pytest.mark.parametrize("name", ["http", "a1", "metrics-2"])
def test_good_port_names(name: str) -> None:
    assert port_name_problems(name) == []


@pytest.mark.parametrize(("name", "count"), [("1", 1), ("a--b", 1), ("-a", 1), ("A", 2), ("a" * 16, 1)])
def test_bad_port_names(name: str, count: int) -> None:
    assert len(port_name_problems(name)) == count


@pytest.mark.parametrize(("name", "is_good"), [("A_B", True), ("a b", True), ("é", False), ("a=b", False), ("", False)])
def test_names_of_variables(name: str, is_good: bool) -> None:
    assert (environment_name_problems(name) == []) is is_good


@pytest.mark.parametrize(
    ("key", "is_good"), [("a.b", True), ("..", False), ("..a", False), ("a b", False), ("a" * 254, False)]
)
def test_keys_of_config_maps(key: str, is_good: bool) -> None:
    assert (config_key_problems(key) == []) is is_good


@pytest.mark.parametrize(
    ("host", "is_good"), [("a.b", True), ("*.a.b", True), ("*", False), ("a.*", False), ("A", False)]
)
def test_hosts_of_ingresses(host: str, is_good: bool) -> None:
    assert (not host_problems(host)) is is_good


@pytest.mark.parametrize(
    ("path", "is_good"), [("a/b", True), ("/a", False), ("a/../b", False), ("..a", False), ("a..", True)]
)
def test_files_land_below_their_mount(path: str, is_good: bool) -> None:
    assert (local_path_problems(path) == []) is is_good
