"""``heliostat get``: objects of the cluster as tables, YAML or JSON; without a kind, RayClusters and their Pods."""

import argparse
import sys
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError, MissingObjectError
from heliostat.cli.inputs import add_filename_flag, is_file, load_documents
from heliostat.cli.render import print_objects
from heliostat.cli.served_kinds import ServedKinds, fetch_kinds
from heliostat.cli.server_tables import ACCEPT, Table, format_table, read_table
from heliostat.cli.targets import ANY, Target, find_target, parse_targets, target_of_document
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.desired import labels
from heliostat.explain.explanation import format_columns
from heliostat.explain.places import list_places
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.pods import view_pod
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.selector_text import parse_selector
from heliostat.kube.selectors import SelectorError
from heliostat.operator.kinds import POD, RAY_CLUSTER
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
    parser.add_argument(
        "kind",
        nargs="?",
        help="such as raycluster, pods, jobs.batch, pod/NAME, several: pod,svc, a RayCluster's name, or a file",
    )
    parser.add_argument("name", nargs="*", help="only these")
    add_filename_flag(parser)
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="those of every namespace")
    parser.add_argument("-l", "--selector", default="", help="only those with these labels: ray.io/cluster=demo")
    parser.add_argument(
        "-o", "--output", choices=("table", "wide", "yaml", "json", "name"), default="table", help="default: table"
    )
    parser.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="watch for changes until Ctrl-C; a single RayService is shown with both clusters",
    )
    parser.add_argument("--kinds", action="store_true", help="list the kinds that the cluster serves")
    parser.add_argument("--all", action="store_true", help="also deleted ones, as the local cluster remembers them")
    add_cluster_flags(parser)
    options = parser.parse_args(arguments)
    options.targets = []
    if options.kind and is_file(options.kind):
        options.filename, options.kind, options.name = [*options.filename, options.kind, *options.name], "", []
    if options.kind and "/" in options.kind:
        _take_targets(options)
    try:
        parse_selector(options.selector)
    except SelectorError as error:
        raise CommandError(f"--selector: {error}") from None
    if options.filename and (options.kind or options.all):
        raise CommandError("-f names the objects of its documents: leave it out, or the kind and --all")
    if options.watch and (options.all or options.output not in ("table", "wide") or not _names_kind(options)):
        raise CommandError("-w shows a table of what a kind or -f names: leave out -o, --all and --kinds")
    if (options.name or options.filename) and options.all_namespaces:
        raise CommandError("names are looked up in one namespace: leave out --all-namespaces, or the names")
    return options


def _names_kind(options: argparse.Namespace) -> bool:
    return bool(options.kind or options.filename or options.targets) and not options.kinds


def _take_targets(options: argparse.Namespace) -> None:
    """``pod/a b`` are two Pods, ``pod/a svc/b`` a Pod and a Service."""
    words = [options.kind, *options.name]
    if len(words) > 1 and all("/" in word for word in words):
        options.targets, options.kind, options.name = parse_targets(words), "", []
        return
    kind, _slash, name = options.kind.partition("/")
    options.kind, options.name = kind, [name, *options.name]


async def get(cluster: Cluster, options: argparse.Namespace) -> int:
    if not (options.kind or options.kinds or options.filename or options.targets):
        return await _show_clusters(cluster, options)
    kinds = await fetch_kinds(cluster.client)
    if options.kinds:
        print("\n".join(format_columns([("NAME", "APIVERSION", "KIND"), *kinds.lines()])))
        return 0
    if options.output in ("table", "wide"):
        return await _show_tables(cluster, await _find_wishes(cluster, kinds, options), options)
    found = await fetch_objects(cluster, kinds, options)
    if options.output == "name":
        print_names(found)
    else:
        print_objects([tree for _resource, tree in found], options.output)
    return 0


class Wish(Struct, frozen=True):
    """Objects of one kind in one place; without names all of them."""

    resource: ResourceType
    namespace: str
    names: tuple[str, ...] = ()


async def _find_wishes(cluster: Cluster, kinds: ServedKinds, options: argparse.Namespace) -> list[Wish]:
    targets = [target_of_document(kinds, document) for document in load_documents(options.filename)]
    targets += [Target(kinds.meant_by(word), name) for word, name in options.targets]
    word = options.kind or ""
    if word and not options.name and "," not in word and not kinds.is_known(word):
        targets.append(await _find_by_name(cluster, kinds, word))
        word = ""
    resources = [kinds.meant_by(each) for each in word.split(",")] if word else []
    where = "" if options.all_namespaces else cluster.namespace
    wishes = [Wish(each, where if each.is_namespaced else "", tuple(options.name)) for each in resources]
    return [*wishes, *_join(cluster, targets)]


async def _find_by_name(cluster: Cluster, kinds: ServedKinds, word: str) -> Target:
    try:
        return await find_target(cluster, kinds, ANY, word)
    except MissingObjectError as error:
        if not error.has_hint:
            raise CommandError(f"no object is called {word!r}; {kinds.tell_unknown(word)}", 1) from None
        raise CommandError(f"{word!r} is not a kind (heliostat get --kinds lists them), and {error}", 1) from None


def _join(cluster: Cluster, targets: list[Target]) -> Iterator[Wish]:
    """Names of one kind and place share a table."""
    names: dict[tuple[ResourceType, str], list[str]] = {}
    for each in targets:
        place = (each.namespace or cluster.namespace) if each.resource.is_namespaced else ""
        names.setdefault((each.resource, place), []).append(each.name)
    return (Wish(resource, place, tuple(found)) for (resource, place), found in names.items())


async def _show_tables(cluster: Cluster, wishes: list[Wish], options: argparse.Namespace) -> int:
    if options.watch:
        from heliostat.cli.get_watch import watch

        return await watch(cluster, wishes, lambda: _fetch_lines(cluster, wishes, options))
    lines = await _fetch_lines(cluster, wishes, options)
    if not lines:
        return await _tell_none(cluster, ", ".join(wish.resource.plural for wish in wishes), options)
    print("\n".join(lines))
    return 0


async def _fetch_lines(cluster: Cluster, wishes: list[Wish], options: argparse.Namespace) -> list[str]:
    """One table for each, with an empty line between them; none for what is not there."""
    shown: list[str] = []
    for wish in wishes:
        tables = [await _fetch_table(cluster, wish, call) for call in _calls(wish, options)]
        table = replace(tables[0], rows=[row for each in tables for row in each.rows])
        everywhere = options.all_namespaces and wish.resource.is_namespaced
        if table.rows:
            shown.append("\n".join(format_table(table, is_wide=options.output == "wide", with_namespace=everywhere)))
    return "\n\n".join(shown).split("\n") if shown else []


async def _fetch_table(cluster: Cluster, wish: Wish, call: Call) -> Table:
    try:
        return read_table(await cluster.client.request(call))
    except NotFoundError:
        name = call.path.rpartition("/")[2]
        await cluster.fetch_object(wish.resource, name, wish.namespace)  # says which one may be meant
        raise


def _calls(wish: Wish, options: argparse.Namespace) -> Iterator[Call]:
    for name in wish.names:
        yield Call(method="GET", path=path_of(wish.resource, wish.namespace, name), accept=ACCEPT)
    if not wish.names:
        yield replace(list_call(Selection(wish.resource, wish.namespace, options.selector)), accept=ACCEPT)


async def fetch_objects(cluster: Cluster, kinds: ServedKinds, options: argparse.Namespace) -> list[Found]:
    found: list[Found] = []
    for wish in await _find_wishes(cluster, kinds, options):
        if wish.names:
            trees = [await cluster.fetch_object(wish.resource, name, wish.namespace) for name in wish.names]
        else:
            trees = await cluster.fetch_list(wish.resource, wish.namespace, label_selector=options.selector)
        found += [(wish.resource, tree) for tree in trees]
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
        return await _tell_none(cluster, "RayClusters", options)
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


async def _tell_none(cluster: Cluster, what: str, options: argparse.Namespace) -> int:
    where = "in any namespace" if options.all_namespaces else f"in namespace {cluster.namespace}"
    why = "" if options.all_namespaces else await cluster.tell_missing_namespace(cluster.namespace)
    print(f"no {what} {where}{why}", file=sys.stderr)
    return 0
