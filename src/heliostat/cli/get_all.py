"""``heliostat get --all``: what there is, and after it what is gone, each with the time when it went.

Without a cluster to ask only what is gone is shown, and that is said.
"""

import argparse
import sys

from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import MissingObjectError, UnreachableError
from heliostat.cli.get import Found, fetch_objects, get, print_names
from heliostat.cli.gone_objects import GoneObjects, Wanted, mark_gone, name_of
from heliostat.cli.render import print_objects
from heliostat.cli.served_kinds import ServedKinds, fetch_kinds
from heliostat.embedded.doors.past import Gone
from heliostat.kube.timestamps import format_timestamp


def get_all(options: argparse.Namespace) -> int:
    gone = _find(options)
    try:
        return run_on_cluster(options, lambda cluster: _show(cluster, options, gone))
    except UnreachableError as error:
        if not gone:
            raise
        print(f"only what is gone: {error}", file=sys.stderr)
        return _print([], gone, options)


def _find(options: argparse.Namespace) -> list[Gone]:
    namespace = "" if options.all_namespaces else options.namespace or "default"
    words = options.kind.split(",") if options.kind else ()
    wanted = Wanted(words=words, names=options.name, namespace=namespace, selector=options.selector)
    return GoneObjects(options.kubeconfig).find(wanted)


async def _show(cluster: Cluster, options: argparse.Namespace, gone: list[Gone]) -> int:
    if not options.kind or options.kinds:
        await get(cluster, options)
        return _print([], gone, options)
    kinds = await fetch_kinds(cluster.client)
    living = await _fetch_living(cluster, kinds, options, gone)
    if options.output in ("table", "wide"):
        names = list(dict.fromkeys(str(tree["metadata"]["name"]) for _resource, tree in living))
        if names or not options.name:
            await get(cluster, argparse.Namespace(**{**vars(options), "name": names if options.name else []}))
        living = []
    return _print(living, gone, options)


async def _fetch_living(
    cluster: Cluster, kinds: ServedKinds, options: argparse.Namespace, gone: list[Gone]
) -> list[Found]:
    """A name that means something gone need not be there."""
    if not options.name:
        return await fetch_objects(cluster, kinds, options)
    known, living = {each.key.name for each in gone}, []
    for name in options.name:
        try:
            living += await fetch_objects(cluster, kinds, argparse.Namespace(**{**vars(options), "name": [name]}))
        except MissingObjectError:
            if name not in known:
                raise
    return living


def _print(living: list[Found], gone: list[Gone], options: argparse.Namespace) -> int:
    if options.output in ("yaml", "json"):
        print_objects([*(tree for _resource, tree in living), *map(mark_gone, gone)], options.output)
    elif options.output == "name":
        print_names(living)
        print("".join(f"{name_of(each)} (gone at {format_timestamp(each.gone_at)})\n" for each in gone), end="")
    elif gone:
        table = GoneObjects(options.kubeconfig).build_table(gone, with_namespace=options.all_namespaces)
        print("\n".join(("", *table)))
    return 0
