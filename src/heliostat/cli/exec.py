"""``heliostat exec``: run a command in a container; a terminal when this is one. Ends with the command's exit code."""

import argparse
import asyncio
import sys
from contextlib import ExitStack, suppress

from heliostat.cli.channels import Channel, Channels, Ending, open_channels, read_ending
from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.objects_meant import add_file_flag, take_words
from heliostat.cli.own_terminal import build_size, is_terminal, on_resize, pump_input, raw_terminal
from heliostat.cli.pods_meant import fetch_pod, join_target, pick_container
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.kube.jsontree import JsonObject
from heliostat.operator.kinds import POD
from heliostat.runtime.calls import path_of
from heliostat.runtime.transport import Call

KINDS = ("RayCluster", "Pod")
CANNOT_RUN, NOT_FOUND = 126, 127  # as shells have it
# How nodes tell that there is no such program: runc, crun, and our own.
_WRAPPING = "error executing command in container: "
_MISSING = ("executable file not found", "no such file or directory", "was not found in PATH", "does not exist")


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    return run_on_cluster(options, lambda cluster: _execute(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat exec",
        usage="heliostat exec RAYCLUSTER|POD|FILE [OPTIONS] -- COMMAND [ARGUMENT …]",
        description="Run a command in a container. A RayCluster stands for its head Pod. Input goes to the command;"
        " when input and output are a terminal, so is the command's. The exit code is the command's.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "target", nargs="*", metavar="RAYCLUSTER|POD|FILE", help="a name, raycluster/NAME, pod/NAME, or a file with one"
    )
    add_file_flag(parser)
    parser.add_argument("-c", "--container", default="", help="the container (the Pod's default, or its first)")
    parser.add_argument("-i", "--stdin", action="store_true", help="accepted as in kubectl; stdin is passed anyway")
    parser.add_argument(
        "-t", "--tty", action="store_true", help="accepted as in kubectl; a terminal is detected anyway"
    )
    parser.add_argument("-T", "--no-tty", action="store_true", help="no terminal, even when this is one")
    parser.add_argument("--no-stdin", action="store_true", help="give the command no input")
    add_cluster_flags(parser)
    own, command = _split(arguments)
    options = parser.parse_args(own)
    if not command:
        target, *rest = options.target or ["RAYCLUSTER"]
        raise CommandError(f"no command: write heliostat exec {target} -- {' '.join(rest) or 'COMMAND'}")
    options.command, options.target = command, join_target(take_words(options, KINDS))
    return options


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What comes behind -- is the command's."""
    if "--" not in arguments:
        return arguments, []
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]


async def _execute(cluster: Cluster, options: argparse.Namespace) -> int:
    pod = await fetch_pod(cluster, options.target)
    container = pick_container(pod, options.container)
    _check_running(pod)
    has_tty = is_terminal() and not options.no_tty and not options.no_stdin
    call = _build_call(pod, container, options, has_tty=has_tty)
    async with open_channels(cluster, call) as channels:
        with ExitStack() as stack:
            if has_tty:
                stack.enter_context(raw_terminal())
                sizes = _Sizes(channels)
                stack.enter_context(on_resize(sizes.tell))
                sizes.tell()
            if not options.no_stdin:
                pump_input(lambda data: channels.send(Channel.STDIN, data), channels.end_input)
            ending = await _show_output(channels)
    return _exit_code(ending)


def _check_running(pod: JsonObject) -> None:
    phase = (pod.get("status") or {}).get("phase") or "Pending"
    name = pod["metadata"]["name"]
    if phase in ("Succeeded", "Failed"):
        raise CommandError(f"Pod {name} has ended ({phase}); heliostat logs {name} shows what it wrote", 1)
    if phase == "Pending":
        raise CommandError(f"Pod {name} does not run yet; heliostat explain pod/{name} tells why", 1)


def _build_call(pod: JsonObject, container: str, options: argparse.Namespace, *, has_tty: bool) -> Call:
    query = [("container", container), *(("command", word) for word in options.command), ("stdout", "true")]
    query += [("tty", "true")] if has_tty else [("stderr", "true")]
    query += [] if options.no_stdin else [("stdin", "true")]
    path = path_of(POD, pod["metadata"]["namespace"], pod["metadata"]["name"], "exec")
    return Call(method="GET", path=path, query=tuple(query))


class _Sizes:
    """Tells the other side how large the window is, now and whenever that changes."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self._telling: set[asyncio.Task[None]] = set()  # the loop keeps no hold of its tasks

    def tell(self) -> None:
        task = asyncio.create_task(self._send())
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _send(self) -> None:
        with suppress(ConnectionError):  # the command has ended
            await self._channels.send(Channel.SIZE, build_size())


async def _show_output(channels: Channels) -> Ending | None:
    """How it ended; None when the connection ended first."""
    outputs = {Channel.STDOUT: sys.stdout.buffer, Channel.STDERR: sys.stderr.buffer}
    while (received := await channels.receive()) is not None:
        channel, data = received
        if channel == Channel.STATUS:
            return read_ending(data)
        if channel in (Channel.STDOUT, Channel.STDERR):
            output = outputs[Channel(channel)]
            output.write(data)
            output.flush()
    return None


def _exit_code(ending: Ending | None) -> int:
    if ending is None:
        raise CommandError("the connection ended before the command did; whether it goes on is not known", 1)
    code = ending.exit_code
    if code is None:
        is_missing = any(words in ending.message for words in _MISSING)
        why = ending.message.rpartition(_WRAPPING)[2]
        raise CommandError(why or "the command could not be run", NOT_FOUND if is_missing else CANNOT_RUN)
    return code
