"""``heliostat logs rayjob/NAME``: what its driver has written.

In this order: from Ray, while its cluster is there; from the Pod that submitted it; from what the local node has kept
of that Pod; and, where nothing of it is left, what Ray said last, which ends with the driver's last lines if it failed.
"""

import argparse
import sys
from collections.abc import Iterator

from heliostat.cli.cluster_access import Cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.gone_logs import find_gone_pod, print_gone_log
from heliostat.cli.gone_objects import GoneObjects, Wanted
from heliostat.cli.pods_meant import JOB_WORDS
from heliostat.desired import labels
from heliostat.desired.rayjob.submitter import SUBMITTER_CONTAINER
from heliostat.kube.jsontree import JsonObject
from heliostat.local.cluster_token import fetch_token
from heliostat.local.service_dashboard import ServiceDashboard
from heliostat.local.session import Session
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_JOB
from heliostat.ray.log_following import follow_logs
from heliostat.runtime.errors import ApiError, NotFoundError

_NOT_OF_RAY = ("container", "previous", "since", "timestamps")


def is_job(target: str) -> bool:
    return target.rpartition("/")[0].lower() in JOB_WORDS


def check_job_options(options: argparse.Namespace) -> None:
    """Raises CommandError for what only a container's log has."""
    given = [f"--{name}" for name in _NOT_OF_RAY if getattr(options, name)]
    if given:
        raise CommandError(f"{' and '.join(given)}: a container's log has that; of a RayJob there are -f and --tail")


async def show_job_log(cluster: Cluster, options: argparse.Namespace) -> int | str:
    """The exit code, or the name of the Pod whose log is meant. Raises MissingObjectError."""
    name = options.target.rpartition("/")[2]
    job = await cluster.fetch_object(RAY_JOB, name)
    if await _show_from_ray(cluster, job, options):
        return 0
    pods = await cluster.fetch_list(POD, cluster.namespace, label_selector=_submitter_selector(name))
    if pods:
        return str(max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))["metadata"]["name"])
    return show_kept_log(options, job, "its cluster is gone")


async def _show_from_ray(cluster: Cluster, job: JsonObject, options: argparse.Namespace) -> bool:
    """Whether Ray had something to tell."""
    status = job.get("status") or {}
    try:
        dashboard = await _open_dashboard(cluster, str(status.get("rayClusterName") or ""))
        if dashboard is None or not status.get("jobId"):
            return False
        if options.follow and options.tail is None:
            async for text in follow_logs(dashboard, status["jobId"]):
                _print(text)
            return True
        text = await dashboard.fetch_logs(status["jobId"])
    except ApiError:
        return False
    _print(_last_lines(text, options.tail))
    return True


async def _open_dashboard(cluster: Cluster, name: str) -> ServiceDashboard | None:
    try:
        tree = await cluster.fetch_object(RAY_CLUSTER, name) if name else {}
    except (CommandError, NotFoundError):
        return None
    service = ((tree.get("status") or {}).get("head") or {}).get("serviceName")
    if not service:
        return None
    token = await fetch_token(Session(cluster.transport, cluster.client), tree)
    return ServiceDashboard(cluster.transport, cluster.namespace, service, token)


def show_gone_job_log(options: argparse.Namespace, error: CommandError) -> int:
    """Of a RayJob that is not there. Raises the error when nothing of it was kept."""
    name, namespace = options.target.rpartition("/")[2], options.namespace or "default"
    gone = GoneObjects(options.kubeconfig).find(Wanted(words=("rayjobs",), names=(name,), namespace=namespace))
    if not gone:
        raise error
    return show_kept_log(options, gone[0].tree, "it is gone")


def show_kept_log(options: argparse.Namespace, job: JsonObject, why: str) -> int:
    name, status = job["metadata"]["name"], job.get("status") or {}
    for selector, container in _kept_places(name, str(status.get("rayClusterName") or "")):
        found = find_gone_pod(options, selector, container)
        if found is not None:
            print(f"RayJob {name}: {why}; this is what was kept of Pod {found.record.name}", file=sys.stderr)
            return print_gone_log(found, container, options)
    if not status.get("message"):
        raise CommandError(f"RayJob {name}: {why}, and nothing that its driver wrote was kept", 1)
    print(f"RayJob {name}: {why}; this is what Ray said last", file=sys.stderr)
    _print(_last_lines(f"{status['message'].rstrip()}\n", options.tail))
    return 0


def _kept_places(name: str, cluster: str) -> Iterator[tuple[dict[str, str], str]]:
    """Labels of a Pod, and which of its containers."""
    yield {labels.ORIGIN_NAME: name, labels.ORIGIN_KIND: RAY_JOB.kind}, ""
    if cluster:
        yield {labels.CLUSTER: cluster, labels.NODE_TYPE: labels.HEAD}, SUBMITTER_CONTAINER


def _submitter_selector(name: str) -> str:
    return f"{labels.ORIGIN_NAME}={name},{labels.ORIGIN_KIND}={RAY_JOB.kind}"


def _last_lines(text: str, count: int | None) -> str:
    lines = text.splitlines(keepends=True)
    return text if count is None else "".join(lines[max(0, len(lines) - count) :])


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
