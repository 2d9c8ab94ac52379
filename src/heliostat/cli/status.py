"""``heliostat status``: whether the local Kubernetes is up, which processes it has and how they are."""

import argparse
import asyncio
import time
from pathlib import Path

from heliostat.kube.image_versions import find_version_differences
from heliostat.kube.pods import view_pod
from heliostat.local.disk import find_disk_problem
from heliostat.local.file_pods import POD
from heliostat.local.node_conditions import NODE, describe_nodes
from heliostat.local.session import open_session
from heliostat.local.state import ChildStatus, State, default_state
from heliostat.runtime.connection import AccessError
from heliostat.runtime.errors import ApiError

_PATIENCE_SECONDS = 3.0  # for a server that does not answer


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="heliostat status",
        description="Tell whether the local Kubernetes is up. The exit code is 3 when it is not.",
    )
    parser.add_argument("--state", type=Path, help="the state directory (HELIOSTAT_STATE or ~/.local/state/heliostat)")
    state = State((parser.parse_args(arguments).state or default_state()).absolute())
    status = state.read_status()
    if status is None or not state.is_locked():
        print(f"not up (state directory {state.path}); heliostat up starts it")
        return 3
    now = time.time()
    word = "up" if status.is_ready else f"starting: {status.problem or 'waiting for the control plane'}"
    print(f"{word}, since {_age(now - status.since)} (PID {status.pid}, state directory {state.path})")
    for child in status.children:
        print(f"  {describe(child, now)}")
    for sentence in asyncio.run(fetch_conditions(state)) if status.is_ready else ():
        print(f"  {sentence}")
    for note in asyncio.run(fetch_notes(state)) if status.is_ready else ():
        print(f"  ! {note}")
    print(f"export KUBECONFIG={state.kubeconfig}")
    return 0


def describe(child: ChildStatus, now: float) -> str:
    running = f"running since {_age(now - child.since)}, PID {child.pid}" if child.pid else "not running"
    again = (
        f", {child.restarts} restarts, the last after {child.last_exit}" if child.restarts and child.last_exit else ""
    )
    return f"{child.name:<14} {running}{again}"


async def fetch_conditions(state: State) -> tuple[str, ...]:
    """How Pods are kept apart and where they get to; nothing while nobody answers."""
    try:
        async with open_session(state.kubeconfig, _PATIENCE_SECONDS) as session:
            return describe_nodes(await session.list_in(NODE, ""))
    except (ApiError, AccessError):
        return ()


async def fetch_notes(state: State) -> tuple[str, ...]:
    """What should be known: a full disk, or what holds for Pods that run."""
    full = find_disk_problem(state.path)
    if full:
        return (full,)
    try:
        async with open_session(state.kubeconfig, _PATIENCE_SECONDS) as session:
            pods = await session.list_in(POD, "")
    except (ApiError, AccessError) as error:
        return (f"its Pods are not known: {error}",)
    return tuple(find_version_differences(map(view_pod, pods)))


def _age(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"
