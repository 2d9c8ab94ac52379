"""``heliostat up``: a whole Kubernetes with the ray.io operator on this machine, in the background."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from heliostat.cli.errors import INTERRUPTED, CommandError
from heliostat.cli.local_images import add_image_flags, build_image_flags
from heliostat.cli.local_nodes import add_local_node_flags, build_local_node_flags, build_node_wishes, check_isolation
from heliostat.cli.local_operator import add_local_operator_flags, build_local_operator_flags
from heliostat.cli.local_settings import build_local_settings
from heliostat.cli.merging import MERGE, add_merge_flag, check_merge, merge_if_asked
from heliostat.cli.tcp_ports import parse_port
from heliostat.local.assembly import READY_PROBE_SECONDS, LocalOptions, become_supervisor, build_orders
from heliostat.local.bytecode import advise_compilation
from heliostat.local.leftovers import end_leftovers, has_leftovers
from heliostat.local.operator_settings import write_operator_settings
from heliostat.local.ports import choose_port
from heliostat.local.starting import READY_SECONDS, Started, StartError, give_up, start_in_background, wait_until_ready
from heliostat.local.state import State, StateError, SupervisorStatus, default_state, open_state
from heliostat.local.view import View, open_view
from heliostat.operator.configuration import LONGEST_PROBE_SECONDS


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    build_node_wishes(options)  # a wish for a node that there is not is refused before anything is started
    check_merge(options)
    state = open_for_use(options)
    if options.foreground:
        _supervise(state, options)
    was_up, had_objects = state.is_locked(), state.server.exists()
    if not was_up and options.port:
        _check_port(state, options.port)
    handed_on = [*_hand_on(arguments), *build_image_flags(options)]
    if was_up and handed_on:
        tell_ignored(handed_on)
    bring_up(state, handed_on, open_view(sys.stderr), options.timeout)
    print(f"{'already up' if was_up else 'up'}: export KUBECONFIG={state.kubeconfig}")
    merge_if_asked(state, options)
    if had_objects or was_up:
        _tell_dashboards(state)
    return 0


def _tell_dashboards(state: State) -> None:
    """Of the RayClusters that are there already."""
    from heliostat.cli.existing_dashboards import open_dashboards

    for name, address in open_dashboards(state):
        print(f"dashboard of RayCluster {name}: {address}")


def _check_port(state: State, port: int) -> None:
    """Before anything is started. What one of ours has left may hold it, and ends first. Raises CommandError."""
    if has_leftovers(state):
        return
    try:
        choose_port(state, port)
    except StateError as error:
        raise CommandError(f"{error}; nothing was started", 1) from None


def tell_ignored(flags: list[str]) -> None:
    told = f"heliostat is up already and stays as it was started: heliostat down first for {' '.join(flags)}"
    print(told, file=sys.stderr)


def bring_up(
    state: State, arguments: list[str], view: View, seconds: float, meanwhile: Callable[[], object] = lambda: None
) -> None:
    """Start it unless it is up, and wait until it is ready. Raises CommandError; nothing of ours goes on then.

    ``meanwhile`` is done while it starts.
    """
    started, is_ours = Started(state), not state.is_locked()
    try:
        if is_ours:
            view.show((f"… starting a Kubernetes on this machine, in {state.path}",))
            start_in_background(started, arguments)
            advice = advise_compilation()
            if advice:
                view.note(advice)
        meanwhile()
        wait_until_ready(started, seconds, lambda words: view.show((f"… starting a Kubernetes: {words}",)))
    except StartError as error:
        raise CommandError(str(error), 1) from None
    except KeyboardInterrupt:
        view.note("interrupted" + (": stopping what was started" if started.process is not None else ""))
        told = "nothing was started" if is_ours and started.process is None else give_up(started)
        raise CommandError(told, INTERRUPTED) from None
    finally:
        view.clear()


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat up",
        description="Start a Kubernetes API server with its controllers, the ray.io operator and a node that runs Pods"
        " as processes of this machine. Everything is kept in the state directory; heliostat down stops it.",
    )
    parser.add_argument("--state", type=Path, help="the state directory (HELIOSTAT_STATE or ~/.local/state/heliostat)")
    parser.add_argument(
        "--port", type=parse_port, default=0, help="the API server's port on 127.0.0.1 (any free one, kept)"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=READY_SECONDS,
        metavar="SECONDS",
        help=f"for it to be ready; what is not is stopped ({READY_SECONDS:.0f})",
    )
    parser.add_argument(
        "--ephemeral", action="store_true", help="keep nothing: everything is gone after heliostat down"
    )
    add_merge_flag(parser)
    add_image_flags(parser)
    parser.add_argument("--strict", action="store_true", help="advertise only the CPU and memory this machine has")
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
        help=f"{when}initial delay and period of the readiness probe that Ray containers without one get; 0 means"
        f" KubeRay's 10 and 5 s ({READY_PROBE_SECONDS})",
    )


def open_for_use(options: argparse.Namespace) -> State:
    check_isolation(options)
    try:
        return open_state(options.state or default_state())
    except StateError as error:
        raise CommandError(str(error), 1) from None


def _hand_on(arguments: list[str]) -> list[str]:
    """Without those that are given anew, for a process in another directory, or are not for it."""
    kept, skip = [], False
    for argument in arguments:
        if skip or argument.startswith(("--state=", "--images=", "--timeout=")):
            skip = False
        elif argument in ("--state", "--images", "--timeout"):
            skip = True
        elif argument == MERGE:
            continue  # done here, once there is something to merge
        else:
            kept.append(argument)
    return kept


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
            write_operator_settings(state, build_local_settings(options))
            become_supervisor(build_orders(state, local, lock.fileno()))
    except StateError as error:
        raise CommandError(str(error), 1) from None
