"""``heliostat up``: a whole Kubernetes with the ray.io operator on this machine, in the background."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from heliostat.cli.errors import CommandError
from heliostat.cli.local_images import add_image_flags, build_image_flags
from heliostat.cli.local_nodes import add_local_node_flags, build_local_node_flags, build_node_wishes, check_isolation
from heliostat.cli.local_operator import add_local_operator_flags, build_local_operator_flags
from heliostat.local.assembly import READY_PROBE_SECONDS, LocalOptions, become_supervisor, build_orders
from heliostat.local.leftovers import end_leftovers
from heliostat.local.state import State, StateError, SupervisorStatus, default_state, open_state
from heliostat.operator.configuration import LONGEST_PROBE_SECONDS

READY_SECONDS = 60.0
_POLL_SECONDS = 0.05


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    build_node_wishes(options)  # a wish for a node that there is not is refused before anything is started
    state = open_for_use(options)
    if options.foreground:
        _supervise(state, options)
    if state.is_locked():
        print(f"already up: export KUBECONFIG={state.kubeconfig}")
        return 0
    start_in_background(state, [*_without_paths(arguments), *build_image_flags(options)])
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
    add_image_flags(parser)
    parser.add_argument("--strict", action="store_true", help="promise Pods no more than the machine has")
    add_local_node_flags(parser)
    add_local_operator_flags(parser)
    add_probe_flag(parser)
    parser.add_argument("--foreground", action="store_true", help="stay here and stop at Ctrl-C")
    return parser.parse_args(arguments)


def add_probe_flag(parser: argparse.ArgumentParser, when: str = "") -> None:
    parser.add_argument(
        "--ready-probe-seconds",
        type=int,
        choices=range(LONGEST_PROBE_SECONDS + 1),
        default=READY_PROBE_SECONDS,
        metavar="N",
        help=f"{when}how soon and how often Ray containers without a readiness probe in the document are asked whether"
        f" they are ready; 0 means KubeRay's 10 and 5 s ({READY_PROBE_SECONDS})",
    )


def open_for_use(options: argparse.Namespace) -> State:
    check_isolation(options)
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
                *arguments,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=tempfile.gettempdir(),
        )
    return process.pid


def _without_paths(arguments: list[str]) -> list[str]:
    """Those that are given anew, for a process in another directory."""
    kept, skip = [], False
    for argument in arguments:
        if skip or argument.startswith(("--state=", "--images=")):
            skip = False
        elif argument in ("--state", "--images"):
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


def _supervise(state: State, options: argparse.Namespace) -> NoReturn:
    local = LocalOptions(
        is_ephemeral=options.ephemeral,
        port=options.port,
        strict=options.strict,
        ready_probe_seconds=options.ready_probe_seconds,
        operator_flags=build_local_operator_flags(options),
        node_flags=(*build_image_flags(options), *build_local_node_flags(options)),
    )

    try:
        with state.lock() as lock:
            told = state.read_status()
            state.write_status(SupervisorStatus(pid=os.getpid(), since=time.time(), is_ephemeral=options.ephemeral))
            end_leftovers(state, told)
            become_supervisor(build_orders(state, local, lock.fileno()))
    except StateError as error:
        raise CommandError(str(error), 1) from None
