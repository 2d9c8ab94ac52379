"""``heliostat apiserver``: the embedded Kubernetes API server, until it is told to stop."""

import argparse
import asyncio
import gc
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from heliostat.cli.errors import CommandError
from heliostat.cli.open_files import allow_many_open_files
from heliostat.cli.simulated_nodes import add_node_flags, build_simulation
from heliostat.cli.tcp_ports import parse_port
from heliostat.embedded.doors.apiserver import (
    EmbeddedServer,
    ListenError,
    NodeLink,
    ServerOptions,
    StorageError,
    write_kubeconfig,
)
from heliostat.embedded.doors.files import UnsafeFileError

if TYPE_CHECKING:
    from heliostat.embedded.doors.apiserver import ControllerOptions, HistoryOptions


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    allow_many_open_files()
    try:
        import uvloop

        return uvloop.run(_serve(options))
    except (ListenError, UnsafeFileError, StorageError) as error:
        raise CommandError(str(error), 1) from None
    except OSError as error:
        if error.filename is not None:
            raise CommandError(f"{error.filename}: cannot be used: {error.strerror}", 1) from None
        raise CommandError(f"cannot listen on {options.host}:{options.port}: {error.strerror}", 1) from None


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat apiserver",
        description="Run the embedded Kubernetes API server. It writes a kubeconfig for its administrator, says when it"
        " is ready, and stops at SIGINT or SIGTERM.",
    )
    parser.add_argument("--data", type=Path, default=Path(".heliostat"), help="where everything is kept (.heliostat)")
    parser.add_argument("--memory", action="store_true", help="keep nothing: everything ends with the process")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=parse_port, default=6443, help="the port; 0 takes any free one (6443)")
    parser.add_argument("--kubeconfig", type=Path, help="the kubeconfig to write (kubeconfig in the data directory)")
    parser.add_argument("--previews", action="store_true", help="serve alpha and beta versions of built-in kinds too")
    parser.add_argument(
        "--synchronous",
        choices=("FULL", "NORMAL"),
        default="FULL",
        help="NORMAL is faster, but a power failure may lose the last acknowledged writes (FULL)",
    )
    parser.add_argument(
        "--controllers",
        action="store_true",
        help="run Kubernetes' own controllers in the same process: garbage collection, namespaces, Jobs, Deployments,"
        " StatefulSets, endpoints, volumes, the scheduler; volumes are directories in the data directory",
    )
    parser.add_argument(
        "--node-socket",
        type=Path,
        help="the socket of the node that runs Pods on this machine: logs, commands, ports and proxies end there",
    )
    parser.add_argument(
        "--history", type=Path, metavar="PATH", help="keep a history of deleted objects in this directory"
    )
    parser.add_argument(
        "--history-of",
        default="pods,services,jobs.batch",
        metavar="RESOURCES",
        help="of which resources, such as rayclusters.ray.io (pods,services,jobs.batch)",
    )
    add_node_flags(parser)
    options = parser.parse_args(arguments)
    if options.simulated_nodes and not options.controllers:
        raise CommandError("--simulated-nodes needs --controllers: without them nothing runs the nodes")
    if options.kubeconfig is None:
        options.kubeconfig = Path("kubeconfig") if options.memory else options.data / "kubeconfig"
    return options


async def _serve(options: argparse.Namespace) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    server_options = ServerOptions(
        data=None if options.memory else options.data,
        host=options.host,
        port=options.port,
        synchronous=options.synchronous,
        with_previews=options.previews,
        controllers=_build_controllers(options) if options.controllers else None,
        history=_build_history(options) if options.history is not None else None,
    )
    backend = NodeLink(options.node_socket) if options.node_socket is not None else None
    async with EmbeddedServer(server_options, on_bug=traceback.print_exception, node_backend=backend) as server:
        write_kubeconfig(options.kubeconfig, server.build_kubeconfig())
        gc.freeze()  # what is there now stays: the collector need not look at it again with every long list
        print(f"ready: {server.address}\nexport KUBECONFIG={options.kubeconfig.absolute()}", flush=True)
        return await _run_until(stop, server)


def _build_controllers(options: argparse.Namespace) -> "ControllerOptions":
    from heliostat.embedded.doors.apiserver import ControllerOptions

    has_node = options.node_socket is not None  # whose Pods need real directories, however long the objects are kept
    volumes = options.data.absolute() / "volumes" if has_node else None
    return ControllerOptions(simulation=build_simulation(options), volumes=volumes)


def _build_history(options: argparse.Namespace) -> "HistoryOptions":
    from heliostat.embedded.doors.apiserver import HistoryOptions

    resources = tuple(filter(None, options.history_of.split(",")))
    return HistoryOptions(directory=options.history, resources=resources, has_same_store=not options.memory)


async def _run_until(stop: asyncio.Event, server: EmbeddedServer) -> int:
    stopping = asyncio.create_task(stop.wait())
    failing = asyncio.create_task(server.wait_ended())
    done, pending = await asyncio.wait((stopping, failing), return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    if failing in done:
        print(f"heliostat apiserver: {failing.result()}; start it again", file=sys.stderr)
        return 1
    return 0
