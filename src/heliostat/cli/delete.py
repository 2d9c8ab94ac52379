"""``heliostat delete``: objects go, and with them what belongs to them; it waits until they are gone.

ray.io objects go first, and the rest when they are gone. A deletion names the UID that was seen, so that a new object
of the same name is never hit. While it waits for one of a kind that owns others, those go first (Foreground); with
``--no-wait`` Kubernetes clears up later (Background).
"""

import argparse
import asyncio
import sys
import time

import msgspec
from msgspec import Struct

from heliostat.api.kinds import GROUP
from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError, MissingObjectError
from heliostat.cli.inputs import load_documents, take_files
from heliostat.cli.served_kinds import fetch_kinds
from heliostat.cli.targets import Target, find_target, parse_targets, target_of_document
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.kube.documents import Document
from heliostat.kube.resource_types import ResourceType
from heliostat.local.taking_down import tell_hold
from heliostat.runtime.errors import NotFoundError, UnavailableError

OWNING = (
    "RayCluster", "RayJob", "RayService", "RayCronJob", "Job", "CronJob", "Deployment", "ReplicaSet", "StatefulSet",
    "DaemonSet",
)  # fmt: skip
_POLL_SECONDS = 0.1
_SLOWEST_POLL = 1.0


class Doomed(Struct, frozen=True):
    resource: ResourceType
    namespace: str
    name: str

    def __str__(self) -> str:
        group = f".{self.resource.group}" if self.resource.group else ""
        return f"{self.resource.kind.lower()}{group}/{self.name}"


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    take_files(options)
    documents = load_documents(options.filename) if options.filename else []
    targets = parse_targets(options.target) if options.target else []
    if bool(options.filename) == bool(options.target):
        raise CommandError("name either objects (KIND/NAME, or the name of a RayCluster) or files (-f FILE)")
    return run_on_cluster(options, lambda cluster: _delete(cluster, documents, targets, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat delete",
        description="Delete objects and what they own, and wait until they are gone.",
        allow_abbrev=False,
    )
    parser.add_argument("target", nargs="*", metavar="KIND/NAME", help="such as raycluster/demo, or demo")
    parser.add_argument(
        "-f", "--filename", action="append", default=[], metavar="FILE|DIR|-", help="the objects in these documents"
    )
    parser.add_argument("--no-wait", action="store_true", help="do not wait until they are gone")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help="how long to wait (300)")
    parser.add_argument("--ignore-not-found", action="store_true", help="an object that is not there is no error")
    add_cluster_flags(parser)
    return parser.parse_args(arguments)


async def _delete(
    cluster: Cluster, documents: list[Document], targets: list[tuple[str, str]], options: argparse.Namespace
) -> int:
    kinds = await fetch_kinds(cluster.client)
    has_failed = False
    doomed = [_doom(cluster, target_of_document(kinds, document)) for document in reversed(documents)]
    for word, name in targets:
        try:
            doomed.append(_doom(cluster, await find_target(cluster, kinds, word, name)))
        except MissingObjectError as error:
            has_failed |= not options.ignore_not_found
            print(f"heliostat delete: {error}", file=sys.stderr)
    deadline = time.monotonic() + options.timeout
    for stage in _stages(doomed):
        leaving: list[tuple[Doomed, str]] = []
        for each in stage:
            uid = await _delete_one(cluster, each, options)
            if uid:
                leaving.append((each, uid))
            elif not options.ignore_not_found:
                has_failed = True
                print(f"heliostat delete: {await _tell_missing(cluster, each)}", file=sys.stderr)
        if not options.no_wait:
            await _wait_gone(cluster, leaving, deadline, options.timeout)
    return 1 if has_failed else 0


def _doom(cluster: Cluster, target: Target) -> Doomed:
    namespace = (target.namespace or cluster.namespace) if target.resource.is_namespaced else ""
    return Doomed(target.resource, namespace, target.name)


def _stages(doomed: list[Doomed]) -> tuple[list[Doomed], list[Doomed]]:
    """A ray.io object before what it may depend on: one with its state in Redis has that cleaned up on its way."""
    first = [each for each in doomed if each.resource.group == GROUP]
    return first, [each for each in doomed if each not in first]


async def _tell_missing(cluster: Cluster, doomed: Doomed) -> str:
    """With the name that may be meant."""
    try:
        await cluster.fetch_object(doomed.resource, doomed.name, doomed.namespace)
    except MissingObjectError as error:
        return str(error)
    return f"{doomed} is not there"


async def _delete_one(cluster: Cluster, doomed: Doomed, options: argparse.Namespace) -> str:
    """The UID of what is leaving; empty when there was nothing."""
    uid = await _fetch_uid(cluster, doomed)
    if not uid:
        return ""
    propagation = "Foreground" if doomed.resource.kind in OWNING and not options.no_wait else "Background"
    try:
        await cluster.client.delete(doomed.resource, doomed.namespace, doomed.name, uid=uid, propagation=propagation)
    except NotFoundError:
        return ""
    print(f"{doomed} is being deleted" if not options.no_wait else f"{doomed} deleted", flush=True)
    return uid


async def _fetch_uid(cluster: Cluster, doomed: Doomed) -> str:
    """Empty: it is not there."""
    try:
        body = await cluster.client.get(doomed.resource, doomed.namespace, doomed.name)
    except NotFoundError:
        return ""
    return str(msgspec.json.decode(body)["metadata"]["uid"])


async def _wait_gone(cluster: Cluster, leaving: list[tuple[Doomed, str]], deadline: float, seconds: float) -> None:
    for doomed, uid in leaving:
        pause, told = _POLL_SECONDS, ""
        while (held := await _find_hold(cluster, doomed, uid)) is not None:
            if time.monotonic() > deadline:
                word = f"{doomed.resource.kind.lower()}/{doomed.name}"
                fix = f"heliostat explain {word} tells what holds it up"
                raise CommandError(f"{doomed} is still there after {seconds:g} s; {fix}", 1)
            if held and held != told:
                print(f"{doomed} is being deleted{held}", flush=True)
                told = held
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _SLOWEST_POLL)
        print(f"{doomed} is gone", flush=True)


async def _find_hold(cluster: Cluster, doomed: Doomed, uid: str) -> str | None:
    """What holds it, for people; None when it is gone. A server that is away for a moment says nothing about it."""
    try:
        found = msgspec.json.decode(await cluster.client.get(doomed.resource, doomed.namespace, doomed.name))
    except NotFoundError:
        return None
    except UnavailableError:
        return ""
    return tell_hold(found) if found["metadata"]["uid"] == uid else None
