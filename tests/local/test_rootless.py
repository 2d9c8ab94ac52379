"""Heliostat as a user without any rights: Pods are kept apart by a user namespace, and nothing of them stays."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliostat.local.state import State
from local.unprivileged import USER, Unprivileged, is_running, unprivileged, until

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"), pytest.mark.slow]

CONNECT = 'python3 -c \'import socket; socket.create_connection(("203.0.113.7", 443), 9); print("accepted")\''
FETCH = "wget -q -O- http://pages.default.svc.cluster.local/page"
SHARED = "/usr/share/doc/heliostat/shared"  # beneath a directory that belongs to the machine's root
POD = {
    "kind": "Pod",
    "metadata": {"name": "alone"},
    "spec": {
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsUser": 1000, "runAsGroup": 3000, "fsGroup": 2000},
        "volumes": [{"name": "shared", "emptyDir": {}}],
        "containers": [
            {
                "name": "c",
                "image": "busybox",
                "volumeMounts": [{"name": "shared", "mountPath": SHARED}],
                "command": ["/bin/sh", "-c", "exec sleep 1000"],
            }
        ],
    },
}
SERVER = {
    "kind": "Pod",
    "metadata": {"name": "server", "labels": {"app": "server"}},
    "spec": {
        "terminationGracePeriodSeconds": 1,
        "containers": [
            {
                "name": "c",
                "image": "python:3",
                "command": ["/bin/sh", "-c", "echo hello > page; exec python3 -m http.server 8000"],
                "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
            }
        ],
    },
}
SERVICE = {
    "kind": "Service",
    "metadata": {"name": "pages"},
    "spec": {"selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8000}]},
}


@pytest.fixture(scope="module")
def user() -> Iterator[Unprivileged]:
    """Its Pods are still running when everything is taken down."""
    with unprivileged() as user:
        up = user.heliostat("up")
        assert up.returncode == 0, up.stderr + up.stdout
        user.create(POD)
        yield user


def test_a_pod_has_its_own_processes_names_ids_and_address(user: Unprivileged) -> None:
    pod = user.await_pod("alone", is_running)
    assert pod["status"]["podIP"].startswith("10.244.")
    said = user.inside("alone", "id -u; id -g; hostname; tail -1 /etc/hosts | cut -f2; ls -d /proc/[0-9]* | wc -l")
    user_id, group, hostname, name, processes = said.splitlines()
    assert (user_id, group, hostname, name) == ("1000", "3000", "alone", "alone")
    assert int(processes) < 10


def test_a_pod_is_nicer_than_the_control_plane_where_no_groups_can_weigh_them(user: Unprivileged) -> None:
    user.await_pod("alone", is_running)
    assert user.inside("alone", "nice") == "5"
    status = State(user.state).read_status()
    assert status is not None
    assert {os.getpriority(os.PRIO_PROCESS, child.pid) for child in status.children} == {0}


@pytest.mark.parametrize("place", ["/made-by-alone", "/srv/file", "/etc/heliostat-file", f"{SHARED}/file"])
def test_what_a_pod_writes_is_kept_aside(user: Unprivileged, place: str) -> None:
    assert user.inside("alone", f"echo aside > {place} && cat {place}") == "aside"
    assert not Path(place).exists()


def test_an_image_has_the_home_that_it_brings_for_whoever_the_container_is(user: Unprivileged) -> None:
    sleep = {"name": "c", "image": "rayproject/ray:2.52.0", "command": ["/bin/sh", "-c", "exec sleep 1000"]}
    spec = {"securityContext": {"runAsUser": 1000}, "terminationGracePeriodSeconds": 1, "containers": [sleep]}
    user.create({"kind": "Pod", "metadata": {"name": "ray"}, "spec": spec})
    user.await_pod("ray", is_running)
    said = user.inside("ray", "cd && pwd && touch file && ls && bash -lc 'command -v ray | wc -l'")
    assert said.splitlines() == ["/home/ray", "file", "1"]


def test_a_pod_does_not_reach_beyond_itself(user: Unprivileged) -> None:
    own = user.home / "mine"
    own.write_text("before")
    os.chown(own, USER, USER)
    assert user.inside("alone", f"cat {own} 2>/dev/null || echo hidden") == "hidden"
    assert user.inside("alone", "mount -t tmpfs none /mnt 2>/dev/null || echo refused") == "refused"


def test_the_node_says_how_its_pods_are_kept_apart(user: Unprivileged) -> None:
    user.await_pod("alone", is_running)  # by then there is a node
    conditions = json.loads(user.kubectl("get", "node", "-o", "json"))["items"][0]["status"]["conditions"]
    reasons = {condition["type"]: condition["reason"] for condition in conditions}
    assert reasons["heliostat.dev/Isolated"] == "UserNamespace"
    assert reasons["heliostat.dev/Outbound"] in ("Relayed", "NoRoute")
    assert "in a user namespace" in user.heliostat("status").stdout


def test_a_way_to_keep_pods_apart_that_is_refused_is_told_before_anything_starts(user: Unprivileged) -> None:
    other = user.home / "other"
    refused = user.heliostat("up", "--isolation=root", f"--state={other}")
    assert refused.returncode == 1
    assert "--isolation=root cannot be had here: heliostat does not run as root" in refused.stderr
    assert not other.exists()


def test_a_node_that_comes_back_finds_its_pods(user: Unprivileged) -> None:
    before, pid = user.pod("alone"), find_node(user)
    os.kill(pid, signal.SIGKILL)
    until(lambda: find_node(user) not in (0, pid), lambda: "the node did not come back")
    until(lambda: user.inside("alone", "echo here") == "here", user.node_log)
    assert user.pod("alone")["status"]["containerStatuses"] == before["status"]["containerStatuses"]


def find_node(user: Unprivileged) -> int:
    status = State(user.state).read_status()
    return next((child.pid for child in status.children if child.name == "node"), 0) if status is not None else 0


def test_pods_of_both_lives_reach_each_other_by_the_names_of_services(user: Unprivileged) -> None:
    user.create(SERVER)
    user.create(SERVICE)
    until(lambda: user.inside("alone", FETCH) == "hello", lambda: user.inside("alone", FETCH) + user.node_log())


def test_pods_have_a_way_out(user: Unprivileged) -> None:
    """As far as the relay: whether there is anything behind it is not ours to say."""
    until(
        lambda: user.inside("server", CONNECT) == "accepted", lambda: user.inside("server", CONNECT) + user.node_log()
    )
