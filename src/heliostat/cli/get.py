"""``heliostat get``: objects of the cluster as tables, YAML or JSON; without a kind, RayClusters and their Pods."""

import argparse
import sys
from collections.abc import Iterator
from typing import TypeAlias

from msgspec.structs import replace

from heliostat.cli.cluster_access import Cluster, add_cluster_flags, run_on_cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.render import print_objects
from heliostat.cli.served_kinds import ServedKinds, fetch_kinds
from heliostat.cli.server_tables import ACCEPT, Table, format_table, read_table
from heliostat.desired import labels
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.pods import view_pod
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import POD, RAY_CLUSTER
from heliostat.plan.explain_places import list_places
from heliostat.plan.explanation import format_columns
from heliostat.runtime.calls import Selection, list_call, path_of
from heliostat.runtime.errors import NotFoundError
from heliostat.runtime.transport import Call

Found: TypeAlias = tuple[ResourceType, JsonObject]


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    if options.all:
        from heliostat.cli.get_all import get_all

        return get_all(options)
    return run_on_cluster(options, lambda cluster: get(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heliostat get",
        description="Show objects of the cluster. Without a kind: every RayCluster with its Pods.",
        allow_abbrev=False,
    )
    parser.add_argument("kind", nargs="?", help="such as raycluster, pods, jobs.batch, pod/NAME, or several: pod,svc")
    parser.add_argument("name", nargs="*", help="only these")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="those of every namespace")
    parser.add_argument("-l", "--selector", default="", help="only those with these labels: ray.io/cluster=demo")
    parser.add_argument(
        "-o", "--output", choices=("table", "wide", "yaml", "json", "name"), default="table", help="default: table"
    )
    parser.add_argument("--kinds", action="store_true", help="list the kinds that the cluster serves")
    parser.add_argument(
        "--all", action="store_true", help="also those that are gone, as the local cluster remembers them"
    )
    add_cluster_flags(parser)
    options = parser.parse_args(arguments)
    if options.kind and "/" in options.kind:
        kind, _slash, name = options.kind.partition("/")
        options.kind, options.name = kind, [name, *options.name]
    if options.name and options.all_namespaces:
        raise CommandError("names are looked up in one namespace: leave out --all-namespaces, or the names")
    return options


async def get(cluster: Cluster, options: argparse.Namespace) -> int:
    if not options.kind and not options.kinds:
        return await _show_clusters(cluster, options)
    kinds = await fetch_kinds(cluster.client)
    if options.kinds:
        print("\n".join(format_columns([("NAME", "APIVERSION", "KIND"), *kinds.lines()])))
        return 0
    if options.output in ("table", "wide"):
        return await _show_tables(cluster, _meant(kinds, options), options)
    found = await fetch_objects(cluster, kinds, options)
    if options.output == "name":
        print_names(found)
    else:
        print_objects([tree for _resource, tree in found], options.output)
    return 0


def _meant(kinds: ServedKinds, options: argparse.Namespace) -> list[ResourceType]:
    return [kinds.meant_by(word) for word in options.kind.split(",")]


async def _show_tables(cluster: Cluster, resources: list[ResourceType], options: argparse.Namespace) -> int:
    """Names of one kind share a table."""
    shown: list[str] = []
    for resource in resources:
        tables = [await _fetch_table(cluster, resource, call) for call in _calls(cluster, resource, options)]
        table = replace(tables[0], rows=[row for each in tables for row in each.rows])
        everywhere = options.all_namespaces and resource.is_namespaced
        if table.rows:
            shown.append("\n".join(format_table(table, is_wide=options.output == "wide", with_namespace=everywhere)))
    if not shown:
        return _tell_none(cluster, ", ".join(resource.plural for resource in resources), options)
    print("\n\n".join(shown))
    return 0


async def _fetch_table(cluster: Cluster, resource: ResourceType, call: Call) -> Table:
    try:
        return read_table(await cluster.client.request(call))
    except NotFoundError:
        await cluster.fetch_object(resource, call.path.rpartition("/")[2])  # says which one may be meant
        raise


def _calls(cluster: Cluster, resource: ResourceType, options: argparse.Namespace) -> Iterator[Call]:
    namespace = cluster.namespace if resource.is_namespaced else ""
    for name in options.name:
        yield Call(method="GET", path=path_of(resource, namespace, name), accept=ACCEPT)
    if not options.name:
        selection = Selection(resource, "" if options.all_namespaces else namespace, options.selector)
        yield replace(list_call(selection), accept=ACCEPT)


async def fetch_objects(cluster: Cluster, kinds: ServedKinds, options: argparse.Namespace) -> list[Found]:
    found: list[Found] = []
    for resource in _meant(kinds, options):
        namespace = "" if options.all_namespaces or not resource.is_namespaced else cluster.namespace
        if options.name:
            found += [(resource, await cluster.fetch_object(resource, name)) for name in options.name]
        else:
            listed = await cluster.fetch_list(resource, namespace, label_selector=options.selector)
            found += [(resource, tree) for tree in listed]
    return found


def print_names(found: list[Found]) -> None:
    for resource, tree in found:
        print(f"{resource.kind.lower()}{f'.{resource.group}' if resource.group else ''}/{tree['metadata']['name']}")


async def _show_clusters(cluster: Cluster, options: argparse.Namespace) -> int:
    if options.output not in ("table", "wide"):
        raise CommandError(f"-o {options.output} needs a kind, such as heliostat get raycluster -o {options.output}")
    namespace = "" if options.all_namespaces else cluster.namespace
    resource = (await fetch_kinds(cluster.client)).meant_by(str(RAY_CLUSTER))
    ray_clusters = await cluster.fetch_list(resource, namespace, label_selector=options.selector)
    if not ray_clusters:
        return _tell_none(cluster, "RayClusters", options)
    pods = await cluster.fetch_list(POD, namespace, label_selector=labels.CLUSTER)
    print("\n\n".join("\n".join(_describe(each, pods)) for each in ray_clusters))
    return 0


def _describe(tree: JsonObject, pods: list[JsonObject]) -> Iterator[str]:
    metadata, status = tree["metadata"], tree.get("status") or {}
    ready, wanted = status.get("readyWorkerReplicas", 0), status.get("desiredWorkerReplicas", 0)
    state = "being deleted" if metadata.get("deletionTimestamp") else status.get("state") or "not ready"
    yield f"RayCluster {metadata['namespace']}/{metadata['name']}: {state}, {ready} of {wanted} workers"
    place = metadata["namespace"], metadata["name"]
    own = tuple(view_pod(pod) for pod in pods if _cluster_of(pod) == place)
    rows = list_places(own)
    yield from (f"  {line}" for line in (format_columns(rows) if rows else ("no Pods",)))


def _cluster_of(pod: JsonObject) -> tuple[str, str]:
    metadata = pod["metadata"]
    return metadata["namespace"], (metadata.get("labels") or {}).get(labels.CLUSTER, "")


def _tell_none(cluster: Cluster, what: str, options: argparse.Namespace) -> int:
    where = "in any namespace" if options.all_namespaces else f"in namespace {cluster.namespace}"
    print(f"no {what} {where}", file=sys.stderr)
    return 0
