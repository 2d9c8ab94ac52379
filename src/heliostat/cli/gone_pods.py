"""Pods that are gone, from what the local node has kept of them: which, when they became what, and their logs.

Asks no API server: it may be down.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from heliostat.cli.errors import CommandError
from heliostat.desired import labels
from heliostat.embedded.node.history import LOGS, Gone, list_gone
from heliostat.embedded.node.log_files import LogFiles
from heliostat.embedded.node.log_lines import LogWriter, Wanted, format_log_time
from heliostat.embedded.node.pod_record import PodRecord, read_timeline
from heliostat.kube.nearest import nearest_name
from heliostat.kube.timestamps import format_timestamp
from heliostat.local.state import State, default_state
from heliostat.plan.explanation import format_columns

_POD_WORDS = ("pod", "pods", "po")


def show_gone_pods(options: argparse.Namespace) -> int:
    """All of them, the last to go first; of those that are named, the timelines."""
    if options.kind and options.kind.lower() not in _POD_WORDS:
        raise CommandError(f"only Pods are kept when they are gone, not {options.kind!r}; write get --gone pod/NAME")
    gone, namespace = list_gone(_find_state(options.kubeconfig).node), options.namespace or "default"
    if options.name:
        for name in options.name:
            _print_timeline(pick_gone(gone, namespace, name))
        return 0
    shown = [each for each in gone if options.all_namespaces or each.record.namespace == namespace]
    if not shown:
        print("No Pods that are gone are remembered" + ("" if options.all_namespaces else f" in {namespace}"))
        return 0
    rows = [("NAMESPACE", "NAME", "PHASE", "NODE", "GONE"), *map(_build_row, shown)]
    print("\n".join(format_columns(rows)))
    return 0


def _build_row(gone: Gone) -> tuple[str, ...]:
    record = gone.record
    phase = str(record.status.get("phase", "Unknown"))
    return record.namespace, record.name, phase, record.node, format_timestamp(gone.ended_at)


def _print_timeline(gone: Gone) -> None:
    print(f"Pod {gone.record.name} ({gone.record.uid}), gone at {format_timestamp(gone.ended_at)}")
    for moment in read_timeline(gone.place):
        states = ", ".join(f"{name} {state}" for name, state in moment.containers.items())
        reason = f" ({moment.reason})" if moment.reason else ""
        print(f"  {moment.at}  {moment.phase}{reason}: {states}")


def show_gone_log(options: argparse.Namespace) -> int:
    """The log of one."""
    gone = pick_gone(list_gone(_find_state(options.kubeconfig).node), options.namespace or "default", options.target)
    path = _pick_log(gone, options)
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


def pick_gone(gone: list[Gone], namespace: str, target: str) -> Gone:
    """The last one of that name; a RayCluster's stands for its head. Raises CommandError."""
    name = target.rpartition("/")[2]
    here = [each for each in gone if each.record.namespace == namespace]
    for each in (*(one for one in here if one.record.name == name), *(one for one in here if _is_head(one, name))):
        return each
    known = [each.record.name for each in here]
    meant = nearest_name(name, known)
    some = ", ".join(dict.fromkeys(known[:10]))
    hint = f"did you mean {meant}?" if meant else f"kept are: {some}" if some else "nothing is kept there"
    raise CommandError(f"no Pod {name!r} that is gone from namespace {namespace} is remembered; {hint}", 1)


def _is_head(gone: Gone, cluster: str) -> bool:
    found = gone.record.labels
    return found.get(labels.CLUSTER) == cluster and found.get(labels.NODE_TYPE) == labels.HEAD


def _find_state(kubeconfig: Path | None) -> State:
    """The directory that the kubeconfig in use lies in, if it is one of ours."""
    named = kubeconfig or Path(os.environ.get("KUBECONFIG") or "nowhere")
    state = State(named.absolute().parent)
    return state if named.name == state.kubeconfig.name and state.node.is_dir() else State(default_state())


def _pick_log(gone: Gone, options: argparse.Namespace) -> Path:
    record = gone.record
    container = options.container or record.containers[0]
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
