"""Which way Pods are kept apart, by what the system allows; and what it says where it allows nothing."""

import os
import subprocess
import sys

import pytest

from heliostat.embedded.node.isolating.choices import AUTO, NONE, ROOT, USER
from heliostat.embedded.node.isolating.isolation import NoIsolationError, decide_isolation, judge

NO = "unshare: Operation not permitted"
FORBIDDEN = """
import pathlib
from heliostat.embedded.node.shim import identity
identity.enter_new_users()
pathlib.Path("/proc/sys/user/max_user_namespaces").write_text("0")
from heliostat.embedded.node.isolating.choices import USER
from heliostat.embedded.node.isolating.isolation import observe_trials
print(observe_trials()[USER]())
"""


@pytest.mark.parametrize(
    ("wanted", "root", "user", "way"),
    [
        (AUTO, "", "", ROOT),
        (AUTO, NO, "", USER),
        (AUTO, NO, NO, NONE),
        (USER, "", "", USER),
        (ROOT, "", NO, ROOT),
        (NONE, "", "", NONE),
    ],
)
def test_the_first_way_that_works_counts_unless_one_is_asked_for(wanted: str, root: str, user: str, way: str) -> None:
    assert decide_isolation(wanted, {ROOT: lambda: root, USER: lambda: user}).way == way


def test_a_way_that_is_asked_for_and_refused_is_an_error_with_the_fix() -> None:
    with pytest.raises(NoIsolationError, match=r"--isolation=user cannot be had here: .*max_user_namespaces"):
        decide_isolation(USER, {USER: lambda: NO})


def test_a_machine_that_refuses_everything_says_what_was_refused_and_how_to_allow_it() -> None:
    status, reason, message = judge(decide_isolation(AUTO, {ROOT: lambda: "not root", USER: lambda: NO}))
    assert (status, reason) == ("False", "NoNamespaces")
    assert f"not root; {NO}; " in message
    assert "user.max_user_namespaces" in message


@pytest.mark.skipif(os.geteuid() != 0, reason="whether others may make user namespaces is not known")
def test_a_system_that_forbids_user_namespaces_is_found_out_by_trying() -> None:
    done = subprocess.run([sys.executable, "-c", FORBIDDEN], capture_output=True, text=True, timeout=30, check=True)
    assert "No space left on device" in done.stdout
