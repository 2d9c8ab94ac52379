"""``heliostat status``: whether the local Kubernetes is up, which processes it has and how they are."""

import argparse
import time
from pathlib import Path

from heliostat.local.state import ChildStatus, State, default_state


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
    print(f"export KUBECONFIG={state.kubeconfig}")
    return 0


def describe(child: ChildStatus, now: float) -> str:
    running = f"running since {_age(now - child.since)}, PID {child.pid}" if child.pid else "not running"
    again = (
        f", {child.restarts} restarts, the last after {child.last_exit}" if child.restarts and child.last_exit else ""
    )
    return f"{child.name:<14} {running}{again}"


def _age(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"
