"""``heliostat delete``: objects go, and with them what belongs to them; it waits until they are gone.

A deletion names the UID that was seen, so that a new object of the same name is never hit. While it waits for one of
a kind that owns others, those go first (Foreground); with ``--no-wait`` Kubernetes clears up later (Background).
"""

import argparse
import asyncio
import sys
import time

import msgspec
from msgspec import Struct

from heliostat.cli.cluster_access import Cluster, add_cluster_flags, run_on_cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.inputs import load_documents
from heliostat.cli.served_kinds import ServedKinds, fetch_kinds
from heliostat.cli.targets import parse_targets
from heliostat.kube.documents import Document
from heliostat.kube.resource_types import ResourceType
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
    documents = load_documents(options.filename) if options.filename else []
    targets = parse_targets(options.target) if options.target else []
    if bool(options.filename) == bool(options.target):
        raise CommandError("name either objects (KIND/NAME) or files (-f FILE)")
    return run_on_cluster(options, lambda cluster: _delete(cluster, documents, targets, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat delete",
        description="Delete objects and what belongs to them, and wait until they are gone.",
        allow_abbrev=False,
    )
    parser.add_argument("target", nargs="*", metavar="KIND/NAME", help="such as raycluster/demo")
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
    doomed = [_of_document(cluster, kinds, document) for document in reversed(documents)]
    doomed += [_of_target(cluster, kinds.meant_by(word), name) for word, name in targets]
    has_failed = False
    leaving: list[tuple[Doomed, str]] = []
    for each in doomed:
        uid = await _delete_one(cluster, each, options)
        if uid:
            leaving.append((each, uid))
        elif not options.ignore_not_found:
            has_failed = True
            print(f"heliostat delete: {each} is not there", file=sys.stderr)
    if not options.no_wait:
        await _wait_gone(cluster, leaving, options.timeout)
    return 1 if has_failed else 0


def _of_document(cluster: Cluster, kinds: ServedKinds, document: Document) -> Doomed:
    tree = document.tree
    api_version, kind = str(tree.get("apiVersion", "")), str(tree.get("kind", ""))
    resource = kinds.of(api_version, kind)
    where = f"{document.source}:{document.line_of()}"
    if resource is None:
        raise CommandError(f"{where}: {kinds.explain_missing(api_version, kind)}", 1)
    metadata = tree.get("metadata") or {}
    if not metadata.get("name"):
        raise CommandError(f"{where}: the {kind} has no metadata.name; it cannot be told which one is meant", 1)
    namespace = (metadata.get("namespace") or cluster.namespace) if resource.is_namespaced else ""
    return Doomed(resource, str(namespace), str(metadata["name"]))


def _of_target(cluster: Cluster, resource: ResourceType, name: str) -> Doomed:
    return Doomed(resource, cluster.namespace if resource.is_namespaced else "", name)


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


async def _wait_gone(cluster: Cluster, leaving: list[tuple[Doomed, str]], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for doomed, uid in leaving:
        pause = _POLL_SECONDS
        while await _is_there(cluster, doomed, uid):
            if time.monotonic() > deadline:
                word = f"{doomed.resource.kind.lower()}/{doomed.name}"
                fix = f"heliostat explain {word} tells what holds it up"
                raise CommandError(f"{doomed} is still there after {seconds:g} s; {fix}", 1)
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _SLOWEST_POLL)
        print(f"{doomed} is gone", flush=True)


async def _is_there(cluster: Cluster, doomed: Doomed, uid: str) -> bool:
    """A server that cannot be reached for a moment says nothing about the object."""
    try:
        return await _fetch_uid(cluster, doomed) == uid
    except UnavailableError:
        return True
