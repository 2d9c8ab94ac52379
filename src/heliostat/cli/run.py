"""``heliostat run``: from a YAML file to a ready RayCluster, a RayJob's result or a RayService that answers, here.

What takes long to load is loaded while the local Kubernetes starts, so that the first line comes at once.
"""

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path

from heliostat.cli import up
from heliostat.cli.errors import INTERRUPTED, CommandError
from heliostat.cli.local_images import add_image_flags, build_image_flags
from heliostat.cli.local_nodes import add_local_node_flags, build_local_node_flags, build_node_wishes
from heliostat.cli.local_operator import add_local_operator_flags, build_local_operator_flags
from heliostat.local.assembly import READY_PROBE_SECONDS
from heliostat.local.state import default_state
from heliostat.local.view import View, open_view


def run(arguments: list[str]) -> int:
    own, command = _split(arguments)
    options = _parse(own)
    build_node_wishes(options)
    deadline = time.monotonic() + options.timeout
    view = open_view(sys.stderr)
    try:
        return _run(command, options, view, deadline)
    except KeyboardInterrupt:
        view.clear()
        return INTERRUPTED


def _run(command: list[str], options: argparse.Namespace, view: View, deadline: float) -> int:
    from heliostat.cli.local_settings import settings_of_run
    from heliostat.cli.run_documents import RAY_CLUSTER, find_main, load_judged

    settings = settings_of_run(options.state or default_state(), options)
    documents = load_judged(options.filename, settings)
    kind = find_main(documents)["kind"]
    if command and kind != RAY_CLUSTER:
        raise CommandError(f"the {kind} in {options.filename} brings its own program: leave out -- {' '.join(command)}")
    state = up.open_for_use(options)
    was_up = state.is_locked()
    flags = _flags_of_up(options)
    if was_up and flags:
        up.tell_ignored(flags)
    up.bring_up(state, flags, view, max(0.0, deadline - time.monotonic()), _load_course)

    from heliostat.cli.run_course import Course, Wishes

    wishes = Wishes(
        command=tuple(command),
        working_directory=options.working_dir,
        namespace=options.namespace,
        keeps=options.keep,
        keeps_on_failure=options.keep_on_failure,
        deadline=deadline,
    )
    return Course(state, documents, settings, wishes, view, is_ours=not was_up).run()


def _load_course() -> None:
    """It takes a second, which the local Kubernetes takes longer to start."""
    import_module("heliostat.cli.run_course")


def _flags_of_up(options: argparse.Namespace) -> list[str]:
    plain = [f"--{name}" for name in ("ephemeral", "strict") if getattr(options, name)]
    probes = [f"--ready-probe-seconds={options.ready_probe_seconds}"]
    probes = probes if options.ready_probe_seconds != READY_PROBE_SECONDS else []
    handed_on = (*build_image_flags(options), *build_local_node_flags(options), *build_local_operator_flags(options))
    return [*plain, *probes, *handed_on]


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What is ours, and the command behind --."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat run",
        usage="heliostat run FILE [OPTIONS] [-- COMMAND…]",
        description="Bring up what the file describes on this machine (heliostat up is done if needed), follow it until"
        " it is ready, run COMMAND on it as a Ray job with this directory sent along, and take down what was made. A"
        " RayJob is followed to its result, with what its driver says; Ctrl-C asks Ray to stop it. The exit code is"
        " the command's or the RayJob's. A RayService is followed until it serves what the file says, with the cluster"
        " that it moves from and the one that it moves to, and stays up. What cannot become ready ends it at once,"
        " with the reason.",
    )
    parser.add_argument(
        "filename", metavar="FILE", help="the documents, with a RayCluster, RayJob or RayService; - reads from stdin"
    )
    parser.add_argument("-n", "--namespace", default="default", help="for documents that name none (default)")
    parser.add_argument(
        "--working-dir", type=Path, default=Path(), help="the directory to send to Ray with it (the current one)"
    )
    parser.add_argument(
        "--timeout", type=float, default=300.0, metavar="SECONDS", help="for the cluster or service to be ready (300)"
    )
    parser.add_argument("--keep", action="store_true", help="leave everything up afterwards")
    parser.add_argument(
        "--keep-on-failure", action="store_true", help="leave everything up when it fails, to look at what is there"
    )
    parser.add_argument("--ephemeral", action="store_true", help="when it has to be started: keep nothing on disk")
    add_image_flags(parser, "when it has to be started: ")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="when it has to be started: advertise only the CPU and memory this machine has",
    )
    add_local_node_flags(parser, "when it has to be started: ")
    add_local_operator_flags(parser, "when it has to be started: ")
    up.add_probe_flag(parser, "when it has to be started: ")
    parser.add_argument("--state", type=Path, help="the state directory (HELIOSTAT_STATE or ~/.local/state/heliostat)")
    return parser.parse_args(arguments)
