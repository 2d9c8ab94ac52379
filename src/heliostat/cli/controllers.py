"""``heliostat controllers``: Kubernetes' own controllers against any API server, until they are told to stop."""

import argparse
import os
import socket
import uuid
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from heliostat.cli.errors import CommandError
from heliostat.cli.simulated_nodes import add_node_flags, build_simulation
from heliostat.embedded.doors.controllers import ControlPlane, ControlPlaneOptions
from heliostat.embedded.doors.simulated_nodes import Simulation
from heliostat.runtime.connection import AccessError, Connection
from heliostat.runtime.health_server import HealthServerError, Served
from heliostat.runtime.host import HostSettings
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.lease_decisions import LeaseSettings, LeaseSettingsError
from heliostat.runtime.logs import FORMATS, Log, LogSettingsError, configure_logging
from heliostat.runtime.process import ProcessSettings, Work, Workplace, run_process
from heliostat.runtime.turn import TurnFileError, open_turn
from heliostat.runtime.watch import WatchSettings

LEASE_NAMESPACE = "kube-system"
LEASE_NAME = "heliostat-controllers"


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    try:
        configure_logging(options.log_level, options.log_format)
        settings = _process_settings(options)
        simulation = build_simulation(options)
    except (LogSettingsError, LeaseSettingsError) as error:
        raise CommandError(str(error)) from None
    try:
        import uvloop

        return uvloop.run(_work(options, settings, _plane_options(options, simulation)))
    except TurnFileError as error:
        raise CommandError(f"--turn-file: {error}") from None
    except (AccessError, HealthServerError) as error:
        raise CommandError(str(error), 1) from None


async def _work(options: argparse.Namespace, settings: ProcessSettings, plane_options: ControlPlaneOptions) -> int:
    async def work(place: Workplace) -> None:
        plane = ControlPlane(
            place.transport,
            plane_options,
            on_problem=place.problems.note,
            metrics=place.metrics,
            fence=place.fence,
        )
        place.health.watch_over(plane.host)
        await plane.run(place.stop, place.since)

    with ExitStack() as ends:
        return await run_process(
            partial(_connect, options),
            work,
            settings,
            log=Log("heliostat.controllers"),
            announce=_announce,
            prepare=_turn_taking(options.turn_file, ends) if options.turn_file is not None else None,
        )


def _turn_taking(path: Path, ends: ExitStack) -> Work:
    turn = ends.enter_context(open_turn(path))

    async def wait(_place: Workplace) -> None:
        await turn.wait()

    return wait


def _connect(options: argparse.Namespace) -> Connection:
    return find_connection(os.environ, options.kubeconfig, options.context)


def _announce(text: str) -> None:
    print(text, flush=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat controllers",
        description="Run Kubernetes' own controllers (garbage collection, namespaces, Jobs, Deployments,"
        " StatefulSets, endpoints, ServiceAccounts, volumes, the scheduler) against any API server. It needs the"
        " rights of an administrator and stops at SIGINT or SIGTERM; the exit code is 1 when leadership is lost or"
        " something is broken, and it should then be started again.",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        help="how to reach the API server (KUBECONFIG, the cluster that this runs in, or ~/.kube/config)",
    )
    parser.add_argument("--context", default="", help="the context of the kubeconfig (its current one)")
    add_node_flags(parser)
    parser.add_argument(
        "--volumes", type=Path, metavar="DIR", help="provision volumes for claims as directories in this one (none are)"
    )
    _add_process_flags(parser)
    return parser.parse_args(arguments)


def _add_process_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--leader-elect",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="work only while holding a lease, so that several may run; without it nobody else may, and the work begins"
        " one request deadline after the start, when writes of an earlier process can no longer land",
    )
    parser.add_argument(
        "--turn-file",
        type=Path,
        metavar="FILE",
        help="leader election among processes of this machine by a lock on this file, which holds the leader's pid; the"
        " others stand by, not ready, and when it ends, even by kill -9, one of them takes over at once; with"
        " --no-leader-elect after one request deadline",
    )
    seconds = (
        ("lease", 15.0, "how long a lease is valid"),
        ("renew", 10.0, "how long a holder tries to renew it before it stops working"),
        ("retry", 2.0, "how often it is renewed, or looked at by the others"),
        ("request", 4.0, "the deadline of every request; shorter than lease minus renew"),
    )
    for name, default, about in seconds:
        text = f"{about} ({default:g})"
        parser.add_argument(f"--{name}-seconds", type=float, default=default, metavar="SECONDS", help=text)
    parser.add_argument(
        "--health-port",
        type=_port,
        default=0,
        metavar="PORT",
        help="serve /livez, /readyz and /metrics on this port of 127.0.0.1; 0 takes any free one and prints it (0)",
    )
    parser.add_argument("--log-level", default="info", metavar="LEVEL", help="debug, info, warn or error (info)")
    parser.add_argument("--log-format", choices=FORMATS, default="auto", help="auto: text on a terminal (auto)")
    parser.add_argument("--watch-seconds", type=float, default=45.0, help=argparse.SUPPRESS)  # shorter in tests


def _process_settings(options: argparse.Namespace) -> ProcessSettings:
    if options.request_seconds <= 0:
        raise CommandError(f"--request-seconds: {options.request_seconds:g} s is no deadline; give more than 0")
    lease = LeaseSettings(
        namespace=LEASE_NAMESPACE,
        name=LEASE_NAME,
        identity=f"{socket.gethostname()}_{uuid.uuid4()}",
        lease_seconds=options.lease_seconds,
        renew_deadline_seconds=options.renew_seconds,
        retry_seconds=options.retry_seconds,
        request_seconds=options.request_seconds,
    )
    return ProcessSettings(
        lease=lease if options.leader_elect else None,
        request_seconds=options.request_seconds,
        serves=(Served(port=options.health_port),),
        user_agent="heliostat-controllers",
    )


def _plane_options(options: argparse.Namespace, simulation: Simulation | None) -> ControlPlaneOptions:
    authority = _connect(options).authority
    return ControlPlaneOptions(
        root_certificate=authority.read().reveal() if authority is not None else "",
        volumes=options.volumes.absolute() if options.volumes is not None else None,
        simulation=simulation,
        instance=f"heliostat-{socket.gethostname()}",
        request_seconds=options.request_seconds,
        settings=HostSettings(watch=WatchSettings().lasting(options.watch_seconds)),
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give one from 0 to 65535")
    return int(text)
