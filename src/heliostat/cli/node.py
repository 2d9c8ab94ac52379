"""``heliostat node``: this machine as a node, Pods as processes, until it is told to stop. Its Pods outlive it."""

import argparse
import asyncio
import os
import socket
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from heliostat.cli.errors import CommandError
from heliostat.cli.local_images import add_image_flags
from heliostat.cli.local_nodes import add_local_node_flags, build_node_wishes
from heliostat.cli.open_files import allow_many_open_files
from heliostat.embedded.doors.images import ImageTableError
from heliostat.embedded.doors.local_node import CONDITION as ISOLATED
from heliostat.embedded.doors.local_node import (
    Isolation,
    LocalNode,
    LocalNodeOptions,
    Networks,
    NodeFacts,
    NoIsolationError,
    decide_isolation,
    dns_address_of,
    enter,
    judge,
    observe_host_address,
    observe_trials,
    outbound,
)
from heliostat.local.child_environment import is_thrifty, read_earlier_life, use_small_buffers
from heliostat.local.images import load_images, usual_file
from heliostat.local.machine import GATEWAY, build_local_machines
from heliostat.runtime.connection import AccessError, Connection
from heliostat.runtime.health_server import HealthServerError
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.logs import FORMATS, Log, LogSettingsError, configure_logging
from heliostat.runtime.process import ProcessSettings, Workplace, run_process


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    allow_many_open_files()
    if is_thrifty(os.environ):
        use_small_buffers()
    try:
        isolation = decide_isolation(options.isolation, observe_trials())
        enter(isolation, options.state.absolute())
        configure_logging(options.log_level, options.log_format)
        node_options = _node_options(options, isolation)
    except (LogSettingsError, ImageTableError, NoIsolationError) as error:
        raise CommandError(str(error)) from None
    try:
        return asyncio.run(_work(options, node_options))  # uvloop has no datagrams of given sockets
    except (AccessError, HealthServerError) as error:
        raise CommandError(str(error), 1) from None


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat node",
        description="Make this machine a node: it runs the Pods that are bound to it as processes, each in namespaces"
        " of its own. heliostat up starts it together with everything else.",
    )
    parser.add_argument("--kubeconfig", type=Path, help="how to reach the API server (KUBECONFIG or ~/.kube/config)")
    parser.add_argument("--context", default="", help="the context of the kubeconfig (its current one)")
    parser.add_argument("--state", type=Path, default=Path(".heliostat-node"), help="where Pods live (.heliostat-node)")
    parser.add_argument("--name", default="", help="the node's name (the machine's); further nodes are NAME-1, NAME-2…")
    add_local_node_flags(parser)
    add_image_flags(parser)
    parser.add_argument("--strict", action="store_true", help="advertise only the CPU and memory this machine has")
    parser.add_argument("--socket", type=Path, metavar="PATH", help="serve logs, exec and ports to the API server here")
    parser.add_argument("--log-level", default="info", metavar="LEVEL", help="debug, info, warn or error (info)")
    parser.add_argument("--log-format", choices=FORMATS, default="auto", help="auto: text on a terminal (auto)")
    return parser.parse_args(arguments)


def _node_options(options: argparse.Namespace, isolation: Isolation) -> LocalNodeOptions:
    host, is_plain = observe_host_address(), bool(isolation.because)
    machines = build_local_machines(
        build_node_wishes(options, options.name),
        address=str(host) if is_plain else GATEWAY,
        conditions={
            ISOLATED: judge(isolation),
            outbound.CONDITION: outbound.judge(options.outbound, has_route=not host.is_loopback, is_plain=is_plain),
        },
    )
    networks = Networks()
    server = urlsplit(_connect(options).server)
    return LocalNodeOptions(
        directory=options.state.absolute(),
        machines=machines,
        facts=NodeFacts(
            host_address=machines[0].address,
            dns_address=str(dns_address_of(networks)),
            allocatable=machines[0].capacity,
            images=load_images(options.images, is_exact=options.exact_images),
            images_file=_shorten(options.images or usual_file()),
            has_strict_cpu=options.strict,
            plain_because=isolation.because,
            outbound_ports=options.outbound,
            hidden=(str(options.state.absolute().parent),),
        ),
        api_server=(server.hostname or "127.0.0.1", server.port or 443),
        networks=networks,
        socket=options.socket,
    )


def _shorten(path: Path) -> str:
    """As people write it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


async def _work(options: argparse.Namespace, node_options: LocalNodeOptions) -> int:
    async def work(place: Workplace) -> None:
        node = LocalNode(place.transport, node_options, on_problem=place.problems.note, metrics=place.metrics)
        place.health.watch_over(node.host)
        await node.run(place.stop, place.since)

    settings = ProcessSettings(
        user_agent=f"heliostat-node-{socket.gethostname()}", earlier_ended=read_earlier_life(os.environ)
    )
    connect = partial(_connect, options)
    return await run_process(connect, work, settings, log=Log("heliostat.node"), announce=_announce)


def _announce(text: str) -> None:
    print(text, flush=True)


def _connect(options: argparse.Namespace) -> Connection:
    return find_connection(os.environ, options.kubeconfig, options.context)
