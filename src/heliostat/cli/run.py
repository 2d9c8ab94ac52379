"""``heliostat run``: from a YAML file to a ready RayCluster on this machine, and a program on it to its result."""

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

from heliostat.api.documents import is_ray_document
from heliostat.api.review import review
from heliostat.api.settings import Settings
from heliostat.cli import down, up
from heliostat.cli.errors import CommandError
from heliostat.cli.findings import format_finding
from heliostat.cli.inputs import load_documents
from heliostat.cli.local_images import add_image_flags, build_image_flags
from heliostat.cli.local_nodes import add_local_node_flags, build_local_node_flags, build_node_wishes
from heliostat.cli.local_operator import add_local_operator_flags, build_local_operator_flags
from heliostat.kube.jsontree import JsonObject
from heliostat.local.assembly import READY_PROBE_SECONDS
from heliostat.local.running import RAY_CLUSTER, Made, RunError, Show, apply_all, follow_until_ready, run_job, take_down
from heliostat.local.session import Session, UnknownKindError, open_session
from heliostat.local.state import State
from heliostat.local.view import ProgressView
from heliostat.ray.packages import PackageError
from heliostat.runtime.errors import ApiError

_INTERRUPTED = 130
_PATIENCE_SECONDS = 60.0  # our processes may die and come back


def run(arguments: list[str]) -> int:
    own, command = _split(arguments)
    options = _parse(own)
    build_node_wishes(options)
    documents = _load(options)
    state = up.open_for_use(options)
    was_up = state.is_locked()
    if not was_up:
        up.start_in_background(state, _flags_of_up(options))
        up.wait_until_ready(state)
    elif _flags_of_up(options):
        told = " ".join(_flags_of_up(options))
        print(f"heliostat is up already and stays as it was started: heliostat down first for {told}", file=sys.stderr)
    try:
        return asyncio.run(_run(state, documents, command, options))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (RunError, PackageError, ApiError, UnknownKindError) as error:
        raise CommandError(str(error), 1) from None
    finally:
        if not was_up and not options.keep:
            down.stop(state)


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
        " it is ready, run COMMAND on it as a Ray job with this directory sent along, and take down what was made. The"
        " exit code is the command's.",
    )
    parser.add_argument("filename", metavar="FILE", help="the documents, one of them a RayCluster; - reads from stdin")
    parser.add_argument("-n", "--namespace", default="default", help="for documents that name none (default)")
    parser.add_argument("--working-dir", type=Path, default=Path(), help="what is sent along (the current directory)")
    parser.add_argument(
        "--timeout", type=float, default=300.0, metavar="SECONDS", help="for the cluster to be ready (300)"
    )
    parser.add_argument("--keep", action="store_true", help="leave everything up afterwards")
    parser.add_argument("--ephemeral", action="store_true", help="when it has to be started: keep nothing on disk")
    add_image_flags(parser, "when it has to be started: ")
    parser.add_argument("--strict", action="store_true", help="when it has to be started: promise what there is")
    add_local_node_flags(parser, "when it has to be started: ")
    add_local_operator_flags(parser, "when it has to be started: ")
    up.add_probe_flag(parser, "when it has to be started: ")
    parser.add_argument("--state", type=Path, help="the state directory (HELIOSTAT_STATE or ~/.local/state/heliostat)")
    return parser.parse_args(arguments)


def _load(options: argparse.Namespace) -> list[JsonObject]:
    """Refused before anything is started."""
    documents = load_documents([options.filename])
    problems = [
        (document, problem)
        for document in documents
        if is_ray_document(document.tree)
        for problem in review(document.tree, Settings()).problems
        if problem.severity == "error"
    ]
    for document, problem in problems:
        print(format_finding(document, problem), file=sys.stderr)
    if problems:
        raise CommandError("the file was refused; nothing was started", 1)
    trees = [document.tree for document in documents]
    if sum(tree.get("kind") == RAY_CLUSTER for tree in trees) != 1:
        raise CommandError(f"{options.filename} must hold exactly one RayCluster", 1)
    return trees


async def _run(state: State, documents: list[JsonObject], command: list[str], options: argparse.Namespace) -> int:
    view = ProgressView(sys.stderr)
    show = Show(progress=view.show, words=_print_words, note=view.note)
    async with open_session(state.kubeconfig, patience=_PATIENCE_SECONDS) as session:
        made = await apply_all(session, documents, options.namespace, show)
        try:
            cluster = next(each.tree for each in made if each.tree["kind"] == RAY_CLUSTER)
            ready = await follow_until_ready(session, cluster, show, options.timeout)
            view.done()
            if not command:
                _tell_how_to_go_on(state, ready, options)
                return 0
            id_ = f"heliostat-{os.getpid()}-{time.time_ns() // 1_000_000}"
            return await run_job(session, ready, command, options.working_dir, id_, show)
        finally:
            view.done()
            await _clean_up(session, made, command, options)


async def _clean_up(session: Session, made: list[Made], command: list[str], options: argparse.Namespace) -> None:
    if command and not options.keep:
        await take_down(session, made)


def _tell_how_to_go_on(state: State, cluster: JsonObject, options: argparse.Namespace) -> None:
    options.keep = True  # somebody wants to use it
    print(f"ready; export KUBECONFIG={state.kubeconfig}")
    print(f"heliostat down stops it; kubectl delete raycluster {cluster['metadata']['name']} takes the cluster down")


def _print_words(text: str) -> None:
    print(text, end="", flush=True)
