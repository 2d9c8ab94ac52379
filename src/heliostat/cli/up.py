"""``heliostat up``: a whole Kubernetes with the ray.io operator on this machine, in the background."""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from heliostat.cli.errors import CommandError
from heliostat.cli.local_nodes import add_local_node_flags, build_local_node_flags
from heliostat.local.assembly import LocalOptions, build_supervisor
from heliostat.local.state import State, StateError, default_state, open_state

READY_SECONDS = 60.0
_POLL_SECONDS = 0.05


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    state = open_for_use(options)
    if options.foreground:
        return _supervise(state, options)
    if state.is_locked():
        print(f"already up: export KUBECONFIG={state.kubeconfig}")
        return 0
    start_in_background(state, arguments)
    wait_until_ready(state)
    print(f"up: export KUBECONFIG={state.kubeconfig}")
    return 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat up",
        description="Start a Kubernetes API server with its controllers, the ray.io operator and a node that runs Pods"
        " as processes of this machine. Everything is kept in the state directory; heliostat down stops it.",
    )
    parser.add_argument("--state", type=Path, help="the state directory (HELIOSTAT_STATE or ~/.local/state/heliostat)")
    parser.add_argument("--port", type=int, default=0, help="the API server's port on 127.0.0.1 (any free one, kept)")
    parser.add_argument(
        "--ephemeral", action="store_true", help="keep nothing: everything is gone after heliostat down"
    )
    parser.add_argument("--images", type=Path, metavar="FILE", help="what image names stand for, before our own table")
    parser.add_argument("--strict", action="store_true", help="promise Pods no more than the machine has")
    add_local_node_flags(parser)
    parser.add_argument("--foreground", action="store_true", help="stay here and stop at Ctrl-C")
    return parser.parse_args(arguments)


def open_for_use(options: argparse.Namespace) -> State:
    if os.geteuid() != 0:
        raise CommandError("Pods need root for now: namespaces, mounts and a network of their own; try sudo -E", 1)
    try:
        return open_state(options.state or default_state())
    except StateError as error:
        raise CommandError(str(error), 1) from None


def start_in_background(state: State, arguments: list[str]) -> int:
    """The PID of the supervisor."""
    with (state.logs / "supervisor.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603  our own program
            [
                sys.executable,
                "-m",
                "heliostat.cli",
                "up",
                "--foreground",
                "--state",
                str(state.path),
                *_kept(arguments),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=tempfile.gettempdir(),
        )
    return process.pid


def _kept(arguments: list[str]) -> list[str]:
    """Without the state directory, which is given anew."""
    kept, skip = [], False
    for argument in arguments:
        if skip or argument.startswith("--state="):
            skip = False
        elif argument == "--state":
            skip = True
        else:
            kept.append(argument)
    return kept


def wait_until_ready(state: State, seconds: float = READY_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    begun = time.time()
    while time.monotonic() < deadline:
        status = state.read_status()
        if status is not None and status.is_ready and status.since >= begun - seconds and state.is_locked():
            return
        time.sleep(_POLL_SECONDS)
    status = state.read_status()
    why = status.problem if status is not None and status.problem else "nothing was heard of it"
    raise CommandError(f"not ready after {seconds:.0f} s: {why}; see {state.logs}", 1)


def _supervise(state: State, options: argparse.Namespace) -> int:
    local = LocalOptions(
        is_ephemeral=options.ephemeral,
        port=options.port,
        images=options.images.absolute() if options.images is not None else None,
        strict=options.strict,
        node_flags=build_local_node_flags(options),
    )

    async def work() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await build_supervisor(state, local).run(stop)

    try:
        asyncio.run(work())
    except StateError as error:
        raise CommandError(str(error), 1) from None
    if options.ephemeral:
        state.remove()
    return 0
