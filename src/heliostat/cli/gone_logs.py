"""The logs of Pods that are gone, from what the local node has kept of them. Asks no API server: it may be down."""

import argparse
import sys
import time
from pathlib import Path

from heliostat.cli.errors import CommandError
from heliostat.cli.gone_objects import find_state
from heliostat.desired import labels
from heliostat.embedded.doors.past_pods import (
    LOGS,
    Gone,
    LogFiles,
    LogWriter,
    PodRecord,
    Wanted,
    format_log_time,
    list_gone,
)
from heliostat.kube.nearest import nearest_name


def has_gone_log(options: argparse.Namespace) -> bool:
    return _find(_list(options), options.namespace or "default", options.target) is not None


def show_gone_log(options: argparse.Namespace) -> int:
    """The log of one."""
    gone = pick_gone(_list(options), options.namespace or "default", options.target)
    return print_gone_log(gone, options.container, options)


def find_gone_pod(options: argparse.Namespace, selector: dict[str, str], container: str) -> Gone | None:
    """The last one with these labels and, where one is named, this container."""
    namespace = options.namespace or "default"
    here = (each for each in _list(options) if each.record.namespace == namespace)
    fitting = (each for each in here if selector.items() <= each.record.labels.items())
    return next((each for each in fitting if not container or container in each.record.containers), None)


def print_gone_log(gone: Gone, container: str, options: argparse.Namespace) -> int:
    path = _pick_log(gone, container, options)
    since = b"" if options.since is None else format_log_time(time.time() - options.since)
    writer = LogWriter(Wanted(since=since, has_times=options.timestamps))
    files = LogFiles(path)
    try:
        if options.tail is not None:
            files.skip_to_last(options.tail)
        while (lines := files.read()) is not None:
            sys.stdout.buffer.write(writer.write(lines))
    finally:
        files.close()
    sys.stdout.buffer.flush()
    return 0


def _list(options: argparse.Namespace) -> list[Gone]:
    return list_gone(find_state(options.kubeconfig).node)


def _find(gone: list[Gone], namespace: str, target: str) -> Gone | None:
    """The last one of that name; a RayCluster's stands for its head."""
    name = target.rpartition("/")[2]
    here = [each for each in gone if each.record.namespace == namespace]
    of_that_name = (each for each in here if each.record.name == name)
    return next(of_that_name, None) or next((each for each in here if _is_head(each, name)), None)


def pick_gone(gone: list[Gone], namespace: str, target: str) -> Gone:
    """Raises CommandError when there is none."""
    found = _find(gone, namespace, target)
    if found is not None:
        return found
    name = target.rpartition("/")[2]
    known = [each.record.name for each in gone if each.record.namespace == namespace]
    meant = nearest_name(name, known)
    some = ", ".join(dict.fromkeys(known[:10]))
    hint = f"did you mean {meant}?" if meant else f"kept are: {some}" if some else "nothing is kept there"
    raise CommandError(f"no Pod {name!r} that is gone from namespace {namespace} is remembered; {hint}", 1)


def _is_head(gone: Gone, cluster: str) -> bool:
    found = gone.record.labels
    return found.get(labels.CLUSTER) == cluster and found.get(labels.NODE_TYPE) == labels.HEAD


def _pick_log(gone: Gone, container: str, options: argparse.Namespace) -> Path:
    record = gone.record
    container = container or record.containers[0]
    if container not in record.containers:
        raise CommandError(_tell_no_container(record, container), 1)
    attempts = sorted((gone.place / LOGS / container).glob("*.log"), key=lambda path: int(path.stem))
    wanted = attempts[:-1] if options.previous else attempts
    if not wanted:
        run = "no run before its last" if options.previous else "never run"
        raise CommandError(f"container {container} of Pod {record.name} had {run}, so there is no log", 1)
    return wanted[-1]


def _tell_no_container(record: PodRecord, container: str) -> str:
    meant = nearest_name(container, record.containers)
    hint = f"did you mean {meant}?" if meant else f"there were: {', '.join(record.containers)}"
    return f"Pod {record.name} had no container {container!r}; {hint}"
