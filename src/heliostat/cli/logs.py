"""``heliostat logs``: what a container has written; for a RayCluster, its head's, and for a RayJob, its driver's."""

import argparse
import re
import sys

from heliostat.cli.cluster_access import REQUEST_SECONDS, Cluster, run_on_cluster
from heliostat.cli.errors import CommandError, MissingObjectError, UnreachableError
from heliostat.cli.job_logs import check_job_options, is_job, show_gone_job_log, show_job_log
from heliostat.cli.objects_meant import add_file_flag, take_words
from heliostat.cli.pods_meant import fetch_pod, join_target, pick_container
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.operator.kinds import POD
from heliostat.runtime.calls import path_of
from heliostat.runtime.errors import error_of
from heliostat.runtime.transport import Call, Reply

KINDS = ("RayCluster", "RayJob", "Pod")
_DURATION = re.compile(r"(\d+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    if is_job(options.target):
        check_job_options(options)
    try:
        return run_on_cluster(options, lambda cluster: _show(cluster, options))
    except (MissingObjectError, UnreachableError) as error:
        return _remember(options, error)


def _remember(options: argparse.Namespace, error: CommandError) -> int:
    """There is no such Pod now; there may have been one."""
    from heliostat.cli.gone_logs import has_gone_log, show_gone_log

    if is_job(options.target):
        return show_gone_job_log(options, error)
    if options.all and (has_gone_log(options) or isinstance(error, UnreachableError)):
        return show_gone_log(options)
    if has_gone_log(options):
        raise CommandError(f"{error}; one that is gone is remembered: heliostat logs --all {options.target}", 1)
    raise error


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat logs",
        usage="heliostat logs RAYCLUSTER|POD|rayjob/NAME|FILE [-f] [OPTIONS]",
        description="Print the log of a container. A RayCluster stands for its head Pod. A RayJob"
        " stands for its driver: from Ray while its cluster is there, and afterwards from what is kept.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "target", nargs="*", metavar="TARGET", help="a name, raycluster/NAME, pod/NAME, rayjob/NAME, or a file with one"
    )
    add_file_flag(parser, has_short=False)
    parser.add_argument("-f", "--follow", action="store_true", help="stream new output until Ctrl-C")
    parser.add_argument("-c", "--container", default="", help="the container (the Pod's default, or its first)")
    parser.add_argument("-p", "--previous", action="store_true", help="the log of the previous container instance")
    parser.add_argument("--tail", type=_count, metavar="N", help="only the last N lines")
    parser.add_argument("--since", type=_duration, metavar="AGE", help="only what is younger, such as 30s, 5m or 2h")
    parser.add_argument("--timestamps", action="store_true", help="begin each line with its timestamp")
    parser.add_argument("--all", action="store_true", help="also of a deleted Pod, as the local node kept it")
    add_cluster_flags(parser)
    options = parser.parse_args(arguments)
    options.target = join_target(take_words(options, KINDS))
    return options


async def _show(cluster: Cluster, options: argparse.Namespace) -> int:
    if is_job(options.target):
        shown = await show_job_log(cluster, options)
        if isinstance(shown, int):
            return shown
        options.target = f"pod/{shown}"
    pod = await fetch_pod(cluster, options.target)
    query = {
        "container": pick_container(pod, options.container),
        "follow": "true" if options.follow else "",
        "previous": "true" if options.previous else "",
        "tailLines": "" if options.tail is None else str(options.tail),
        "sinceSeconds": "" if options.since is None else str(options.since),
        "timestamps": "true" if options.timestamps else "",
    }
    path = path_of(POD, pod["metadata"]["namespace"], pod["metadata"]["name"], "log")
    call = Call(
        method="GET",
        path=path,
        query=tuple((key, value) for key, value in query.items() if value),
        accept="text/plain,application/json,*/*",
    )
    answer = await cluster.transport.open(call, REQUEST_SECONDS)
    if isinstance(answer, Reply):
        raise _refusal(answer, pod["metadata"]["name"])
    async for chunk in answer:
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    return 0


def _refusal(answer: Reply, name: str) -> Exception:
    why = f"heliostat explain pod/{name} tells why"
    if answer.status == 204:  # it has no node
        return CommandError(f"Pod {name} has written nothing yet; {why}", 1)
    error = error_of(answer.status, answer.body, answer.retry_after)
    if str(error).startswith("previous terminated container"):
        return CommandError(f"a container of Pod {name} has had no run before this one, so there is no earlier log", 1)
    return CommandError(f"{error}; {why}", 1) if "waiting to start" in str(error) else error


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines; give 0 or more")
    return int(text)


def _duration(text: str) -> int:
    """Seconds."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age; write it like 30s, 5m or 1h30m")
    return max(1, sum(int(number) * _SECONDS[unit] for number, unit in parts))
